#!/usr/bin/env bash
# Unpack an arm64 Python of Lambda's version and what emulates its processor into a folder, and write a command `python`
# there. Nothing is installed: apt resolves and downloads with a state of its own. Needs Debian's apt and keyring.
set -euo pipefail
folder=$(realpath -m "$1")
[ -x "$folder/bin/python" ] && exit
rm -rf "$folder"
mkdir -p "$folder"/{apt/lists/partial,apt/archives/partial,bin,sysroot/usr/lib,emulator}

# Debian 13 is the first with Python 3.13.
cat >"$folder/apt/sources.list" <<SOURCES
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main
SOURCES
: >"$folder/apt/status"
apt=(
    apt-get -qq
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Architectures::=amd64 -o APT::Sandbox::User=root
    -o Dir::Etc::SourceList="$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
    -o Dir::State::Lists="$folder/apt/lists" -o Dir::State::Status="$folder/apt/status"
    -o Dir::Cache="$folder/apt" -o Dir::Cache::Archives="$folder/apt/archives"
)
"${apt[@]}" update
"${apt[@]}" install --download-only --no-install-recommends -y python3.13 libstdc++6 qemu-user:amd64 >/dev/null

programs=usr  # the folder in which Debian's packages have them
ln -s "$programs/lib" "$folder/sysroot/lib"
for package in "$folder"/apt/archives/*_arm64.deb; do dpkg-deb -x "$package" "$folder/sysroot"; done
for package in "$folder"/apt/archives/qemu-user_*_amd64.deb; do dpkg-deb -x "$package" "$folder/emulator"; done
cat >"$folder/bin/python" <<COMMAND
#!/bin/sh
exec "$folder/emulator/$programs/bin/qemu-aarch64" -L "$folder/sysroot" "$folder/sysroot/$programs/bin/python3.13" "\$@"
COMMAND
chmod +x "$folder/bin/python"
rm -rf "$folder/apt"
