"""A model's first layers alone: its own words, template and kernels, in a fraction of the time."""

from pathlib import Path

import gguf


def write_first_layers(source: Path, target: Path, layers: int) -> None:
    """Write the GGUF `source` without its layers from the number `layers` on: what it answers is nonsense."""
    reader = gguf.GGUFReader(source)
    architecture = str(reader.fields[gguf.Keys.General.ARCHITECTURE].contents())
    writer = gguf.GGUFWriter(target, architecture)
    count = gguf.Keys.LLM.BLOCK_COUNT.format(arch=architecture)
    for field in reader.fields.values():
        if field.name == gguf.Keys.General.ARCHITECTURE or field.name.startswith("GGUF."):
            continue  # the writer's own
        value = layers if field.name == count else field.contents()
        kind = field.types[0]
        writer.add_key_value(
            field.name, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        )
    for tensor in reader.tensors:
        if not tensor.name.startswith("blk.") or int(tensor.name.split(".")[1]) < layers:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
