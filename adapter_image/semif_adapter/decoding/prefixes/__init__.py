"""The beginnings of prompts that stay computed: on streams, in a tree of shared cells, or as the only one."""
