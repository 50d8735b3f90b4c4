"""How a loaded model is asked: what the settings, its manifest and this machine say together."""

from dataclasses import dataclass, replace

from semif_adapter.archive.decision_head import ENCODER_HEADS, DecisionHead, read_head
from semif_adapter.archive.manifest import PromptSpec
from semif_adapter.archive.prompt_version import DIRECT_OPTIONS
from semif_adapter.contract.errors import StartupError
from semif_adapter.contract.settings import Settings
from semif_adapter.contract.wire import Mode, ModelInfo, Readout, TemplateName
from semif_adapter.decoding.batched_decoder import BatchedDecoder
from semif_adapter.decoding.decoder import Decoder
from semif_adapter.decoding.invariant_decoder import InvariantDecoder
from semif_adapter.decoding.joined_decoder import JoinedDecoder
from semif_adapter.decoding.whole_decoder import WholeDecoder
from semif_adapter.engine.model_files import ModelFile
from semif_adapter.llama.model import Model
from semif_adapter.machine.cpu import usable_cpus
from semif_adapter.machine.memory import cache_bytes, check_memory, recurrent_bytes
from semif_adapter.machine.mode_memory import chosen_mode, context_size, saved_bytes
from semif_adapter.prompt.chat_template import Template, chat_template, plain_template
from semif_adapter.prompt.direct_options import DIRECT_OPTIONS_SYSTEM
from semif_adapter.prompt.writer import SYSTEM_TEXT
from semif_adapter.readouts.written import QuestionWriter


@dataclass(frozen=True)
class Setup:
    """Everything that was open until the model was loaded."""

    readout: Readout
    head: DecisionHead | None
    """What the model brings for decisions; its readout is then `head`."""
    template: TemplateName
    mode: Mode
    streams: int
    context_tokens: int
    threads: int
    saved_state_bytes: int
    """Most memory of the states that are saved beside the context."""


def choose_setup(settings: Settings, file: ModelFile, model: Model) -> Setup:
    """What the settings say, else the manifest, else what suits the model and the machine.

    Raises StartupError where they name a readout that is not the model's.
    """
    spec = file.manifest.prompt if file.manifest else None
    head = read_head(model.metadata)
    # An encoder keeps nothing that others could share.
    is_encoder = head is not None and head.kind in ENCODER_HEADS
    mode = "invariant" if is_encoder else chosen_mode(settings, on_gpu=bool(model.gpu_layers))
    readout = _readout(settings.readout, spec, head)
    context_tokens = min(settings.context_tokens, model.trained_context)
    return Setup(
        readout=readout,
        head=head,
        template=_template(settings.template or (spec.template if spec else "chat"), readout, model),
        mode=mode,
        streams=settings.streams,
        context_tokens=context_tokens,
        threads=settings.threads or usable_cpus(),
        saved_state_bytes=_saved_state_bytes(model, head, mode, context_tokens, settings.streams),
    )


def _readout(setting: Readout | None, spec: PromptSpec | None, head: DecisionHead | None) -> Readout:
    """The readout; a head has its own, and what was not trained with one has none."""
    if spec is not None and (problem := spec.problem_with(head.kind if head else None)):
        raise StartupError(
            f"the model cannot be asked as its manifest says: {problem}; build the model again"
        )
    if setting is not None and (setting == "head") != (head is not None):
        told = f"has a decision head ({head.kind})" if head else "has no decision head"
        allowed = "head" if head else "letters and text"
        raise StartupError(f"SEMIF_READOUT={setting}, and the model {told}; allowed: {allowed}")
    return setting or (spec.readout if spec else "head" if head else "letters")


def _template(asked: TemplateName, readout: Readout, model: Model) -> TemplateName:
    """The template; a model without one of its own gets ours. Raises StartupError where it cannot be used."""
    if asked == DIRECT_OPTIONS and readout != "letters":
        raise StartupError(
            f"the prompt {DIRECT_OPTIONS} lists options behind letters, and the readout is {readout}; set "
            "SEMIF_READOUT=letters, or SEMIF_TEMPLATE=chat"
        )
    if asked == DIRECT_OPTIONS and not model.chat_template:
        raise StartupError(
            f"the prompt {DIRECT_OPTIONS} stands in the model's own chat template, and the model has none; "
            "set SEMIF_TEMPLATE=plain"
        )
    return asked if model.chat_template else "plain"


def _saved_state_bytes(
    model: Model, head: DecisionHead | None, mode: Mode, context_tokens: int, streams: int
) -> int:
    """Most memory of saved states: none of encoders, and of sliding windows, whose states are not whole
    (`invariant_decoder.py`)."""
    whole = head is not None and head.kind in ENCODER_HEADS
    restored = model.has_recurrent_layers or not model.has_sliding_window
    if whole or not restored:
        return 0
    longest = cache_bytes(model.metadata, context_tokens) + recurrent_bytes(model.metadata, 1)
    return saved_bytes(mode, longest, streams=streams, can_cut=not model.has_recurrent_layers)


def check_context_memory(setup: Setup, file: ModelFile, model: Model) -> None:
    """Raise StartupError where the weights and what the context will hold are more than this machine has."""
    held = context_size(setup.mode, streams=setup.streams, context_tokens=setup.context_tokens)
    cache = cache_bytes(model.metadata, held.tokens)
    recurrent = recurrent_bytes(model.metadata, held.sequences)
    check_memory(file.size, cache + recurrent + setup.saved_state_bytes)


def prompt_templates(setup: Setup, model: Model) -> dict[Readout, Template]:
    """What stands around the user's words, by readout. Raises StartupError as `chat_template` does.

    Letters may run out, the text readout never does: it stands in for them. A head needs neither.
    """
    if setup.head is not None:
        return {}
    source = None if setup.template == "plain" else model.chat_template
    templates = {
        readout: chat_template(model, source, system) if source else plain_template(system)
        for readout, system in SYSTEM_TEXT.items()
        if readout in (setup.readout, "text")
    }
    if source and setup.template == DIRECT_OPTIONS:
        published = chat_template(model, source, DIRECT_OPTIONS_SYSTEM)
        templates[setup.readout] = replace(published, name=DIRECT_OPTIONS)
    return templates


def open_decoder(setup: Setup, model: Model, writer: QuestionWriter) -> Decoder:
    """The decoder of the mode, tested on tokens of the writer's prompts. Raises StartupError as `Context`."""
    memory = {"context_tokens": setup.context_tokens, "threads": setup.threads}
    sample, reads_head = writer.sample, writer.reads_head
    if writer.reads_whole:
        return WholeDecoder(model, sample=sample, **memory)
    if setup.mode == "batched":
        return BatchedDecoder(model, streams=setup.streams, **memory)
    memory["saved_bytes"] = setup.saved_state_bytes
    if setup.mode == "joined":
        return JoinedDecoder(model, sample=sample, reads_head=reads_head, **memory)
    return InvariantDecoder(model, streams=setup.streams, sample=sample, reads_head=reads_head, **memory)


def model_info(setup: Setup, file: ModelFile, model: Model, *, invariant: bool) -> ModelInfo:
    """What answers, as every result tells."""
    gpus = [device for device in model.library.devices if device.is_gpu] if model.gpu_layers else []
    devices = [*gpus, *(device for device in model.library.devices if device.is_cpu)]
    manifest = file.manifest
    return ModelInfo(
        name=manifest.preset if manifest else model.metadata("general.name") or file.path.stem,
        file=file.path.name.encode(errors="backslashreplace").decode(),  # a reply is Unicode
        sha256=file.sha256,
        revision=manifest.revision if manifest else None,
        quantization=manifest.quantization if manifest else model.quantization,
        llama_cpp_build=model.library.build,
        backend=devices[0].backend,
        devices=tuple(map(str, devices)),
        gpu_layers=model.gpu_layers,
        context_tokens=setup.context_tokens,
        threads=setup.threads,
        mode=setup.mode,
        invariant=invariant,
    )
