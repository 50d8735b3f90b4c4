"""Commands for what a deployment is made from: environments, model presets, images and builds."""
