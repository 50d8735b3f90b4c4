"""The binding to libllama: the one room that holds pointers."""
