"""A base image for builds on this machine, in place of the Deep Learning Container that is not here.

Its files are this machine's own: the Python that runs this, a shell and the few programs that a Dockerfile
calls, the shared libraries all of them need, and the llama.cpp of the `xllamacpp` package where the container
has its own (`/opt/llama.cpp/bin`). So the compiled libraries are others than the container's (one file, with
the CPU backend inside), and so is the system; the layout, the variables and the entrypoint are those of the
published Dockerfile (https://github.com/aws/deep-learning-containers, docker/llama_cpp).
"""

import fcntl
import importlib.util
import re
import shutil
import ssl
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

NAME = "stand-in.invalid/llama-cpp"
"""`.invalid` is a name that no registry can have (RFC 6761)."""
CA_BUNDLE = "etc/pki/tls/certs/ca-bundle.crt"
"""Where Amazon Linux has the certificate authorities."""
PROGRAMS = ("cat", "chmod", "cp", "env", "expr", "ls", "mkdir", "rm", "sed", "sha256sum", "sh", "test")
_CONTAINERFILE = """\
FROM scratch
COPY . /
ENV LANG=C.UTF-8 \
    LC_ALL=C.UTF-8 \
    LD_LIBRARY_PATH=/opt/llama.cpp/bin: \
    PATH=/opt/llama.cpp/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
EXPOSE 8080
ENTRYPOINT ["/usr/bin/serve"]
"""
_LOADED_LATER = ("dl", "m", "nss_dns", "nss_files", "pthread", "resolv", "rt", "util")
"""The C library's parts that wheels and the resolver look for by themselves."""
_LEFT_OUT = shutil.ignore_patterns(
    "__pycache__",
    "config-*",
    "dist-packages",
    "idlelib",
    "site-packages",
    "test",
    "tests",
    "tkinter",
    "turtledemo",
)


def stand_in_image(scratch: Path) -> str:
    """The stand-in in buildah's storage, made on the first call: its name by digest.

    Raises OSError or CalledProcessError where it cannot be made.
    """
    with (scratch / "stand-in.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two builds may start at once
        digest = _digest()
        if not digest:
            with tempfile.TemporaryDirectory(dir=scratch, prefix="stand-in-") as folder:
                root, containerfile = Path(folder, "root"), Path(folder, "Containerfile")
                make_root(root)
                containerfile.write_text(_CONTAINERFILE)
                command = ["buildah", "bud", "--quiet", "--format", "docker", "--tag", NAME]
                command += ["--file", str(containerfile), str(root)]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            digest = _digest()
        return f"{NAME}@{digest}"


def _digest() -> str:
    done = subprocess.run(
        ["buildah", "images", "--noheading", "--filter", f"reference={NAME}", "--format", "{{.Digest}}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def make_root(root: Path) -> None:
    """Lay out the image's file system in the new folder `root`."""
    for folder in (
        "usr/bin",
        "usr/lib",
        "usr/lib64",
        "etc",
        "opt/ml",
        "opt/llama.cpp/bin",
        "proc",
        "root",
        "dev",
    ):
        (root / folder).mkdir(parents=True)
    for folder in ("tmp", "var/tmp"):
        (root / folder).mkdir(parents=True)
        (root / folder).chmod(0o1777)
    for link, folder in (("bin", "usr/bin"), ("sbin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")):
        (root / link).symlink_to(folder)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    library = root / "opt/llama.cpp/bin/libllama.so"
    shutil.copy2(_xllamacpp(), library)
    library.chmod(0o755)
    programs = [_program(name) for name in PROGRAMS]
    for name, source in zip(PROGRAMS, programs, strict=True):
        shutil.copy2(source, root / "usr/bin" / name)
    interpreter, modules = _copy_python(root)
    for needed in _shared_libraries([library, interpreter, *modules, *programs]):
        target = root / needed.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(needed.resolve(), target)
    if authorities := certificate_authorities():
        (root / CA_BUNDLE).parent.mkdir(parents=True)
        shutil.copy2(authorities, root / CA_BUNDLE)


def certificate_authorities() -> Path | None:
    """The file of certificate authorities that this machine trusts, where it has one."""
    usual = (ssl.get_default_verify_paths().cafile, "/etc/ssl/certs/ca-certificates.crt", f"/{CA_BUNDLE}")
    return next((Path(path) for path in usual if path and Path(path).is_file()), None)


def _xllamacpp() -> Path:
    package = importlib.util.find_spec("xllamacpp")
    if package is None or not package.submodule_search_locations:
        raise FileNotFoundError("the package xllamacpp is not installed; install the extra `demo`")
    return next(Path(package.submodule_search_locations[0]).glob("*.so"))


def _program(name: str) -> Path:
    path = shutil.which(name, path="/usr/bin:/bin")
    if path is None:
        raise FileNotFoundError(f"there is no {name} in /usr/bin or /bin")
    return Path(path).resolve()


def _copy_python(root: Path) -> tuple[Path, list[Path]]:
    """The interpreter as /usr/bin/python3.X with its standard library; also its compiled modules' paths."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]  # that of no virtual environment
    shutil.copy2(interpreter, root / "usr/bin" / name)
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, root / "usr/lib" / name, ignore=_LEFT_OUT)
    wheels = sysconfig.get_config_var("WHEEL_PKG_DIR")  # where some distributions keep ensurepip's
    if wheels and Path(wheels).is_dir():
        shutil.copytree(wheels, root / Path(wheels).relative_to("/"))
    return interpreter, list((library / "lib-dynload").glob("*.so"))


def _shared_libraries(files: Iterable[Path]) -> set[Path]:
    """What the loader finds for `files`, with the C library's parts that are loaded later."""
    libraries: set[Path] = set()
    for file in files:
        done = subprocess.run(["ldd", file], check=False, capture_output=True, text=True)
        libraries |= {Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout)}
    beside = next(path.parent for path in libraries if path.name.startswith("libc.so"))
    for part in _LOADED_LATER:
        libraries |= set(beside.glob(f"lib{part}.so.[0-9]*"))
    return libraries
