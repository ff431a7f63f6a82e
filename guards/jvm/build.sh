#!/bin/sh
# build.sh FOLDER: compiles clone-guard.jar into a folder. It needs javac and jar, of Java 17 or later.
set -eu
target=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The agent is loaded beside the classes that it watches. They call it, so it is found by their loader.
cat > "$work/manifest" <<END
Premain-Class: wellspring.CloneGuard
Boot-Class-Path: clone-guard.jar
Can-Retransform-Classes: true
END
javac -nowarn --add-exports java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED -d "$work/classes" "$here"/wellspring/*.java
jar --create --file "$target/clone-guard.jar" --manifest "$work/manifest" -C "$work/classes" .
