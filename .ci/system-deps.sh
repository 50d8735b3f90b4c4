#!/usr/bin/env bash
# Installs what Debian brings and pip cannot: what builds images on this machine, stores them, and starts them in a
# network of their own, and the browser that looks at pages. Does nothing where all of it is there.
set -euo pipefail

declare -A packages=([buildah]=buildah [docker-registry]=docker-registry [ip]=iproute2 [unshare]=util-linux)
# A whole Chromium does as well, where there is one, and takes four times as long.
command -v chromium >/dev/null || packages+=([chromium-headless-shell]=chromium-headless-shell)
missing=()
for program in "${!packages[@]}"; do
  PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
if [ ${#missing[@]} = 0 ]; then
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "system-deps: there is no apt-get here; install ${missing[*]} from this system's own packages" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "system-deps: installing ${missing[*]} takes root, and there is no sudo; run this as root" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "system-deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
# Debian starts a registry for every machine's network to use; ours is started where it is needed, for this machine alone.
if [ -d /run/systemd/system ] && [[ " ${missing[*]} " = *" docker-registry "* ]]; then
  "${as_root[@]}" systemctl disable --quiet --now docker-registry
fi
