#!/usr/bin/env bash
# Resolves one hash-locked requirements file anew: lock-requirements.sh lock|dev|node|model-build|container
#
# lock is uv itself, which resolves them. dev comes before the others: they take its versions wherever they have a
# package in common, so that what runs in the container and on the build machine is what the tests ran. Hashes of
# every platform and of Python 3.11 and newer are kept: the same file serves x86-64 and aarch64.
set -euo pipefail
cd "$(dirname "$0")/.."

name=${1:?usage: .ci/lock-requirements.sh lock|dev|node|model-build|container}
options=()
case $name in
  lock)
    options=(requirements/lock.in)
    output=requirements/lock.txt ;;
  dev)
    options=(--extra deploy --extra adapter --extra demo --extra evaluate --extra dev pyproject.toml)
    output=requirements/dev.txt ;;
  node)
    options=(requirements/node.in)
    output=requirements/node.txt ;;
  model-build)
    options=(--constraints requirements/dev.txt requirements/model-build.in pyproject.toml)
    output=requirements/model-build.txt ;;
  container)
    options=(--constraints requirements/dev.txt --only-binary :all: adapter_image/requirements.in)
    output=adapter_image/requirements.txt ;;
  *)
    echo "lock-requirements.sh: unknown name $name, allowed are lock, dev, node, model-build, container" >&2
    exit 64 ;;
esac

.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-annotate --custom-compile-command "make lock" \
  --output-file "$output" "${options[@]}"
