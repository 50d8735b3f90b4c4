"""The routes: what each takes and returns, who may ask it, and the OpenAPI document of them all."""
