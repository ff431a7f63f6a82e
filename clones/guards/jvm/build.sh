#!/bin/sh
# build.sh FOLDER: compiles clone-guard.jar into a folder. It needs javac and jar of Java 17 to 23: later ones do not have the
# library that the guard is compiled against.
set -eu
version=$(javac -version 2>&1 | sed 's/javac \([0-9]*\).*/\1/')
if [ "$version" -lt 17 ] || [ "$version" -gt 23 ]; then
    echo "SKIPPED: no clone-guard.jar: it needs javac of Java 17 to 23, and this is $version"
    exit 0
fi
target=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The agent is loaded beside the classes that it watches. They call it, so it is found by their loader.
cat > "$work/manifest" <<END
Premain-Class: wellspring.CloneGuardAgent
Boot-Class-Path: clone-guard.jar
Can-Retransform-Classes: true
END
javac -nowarn --add-exports java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED -d "$work/classes" \
    "$here"/wellspring/CloneGuard.java "$here"/wellspring/CloneGuardRewriter.java
javac -nowarn -Xlint:-options --release 8 -d "$work/classes" "$here"/wellspring/CloneGuardAgent.java
jar --create --file "$target/clone-guard.jar" --manifest "$work/manifest" -C "$work/classes" .
