#!/bin/sh
# test.sh: builds the jars with the newest JDK in /usr/lib/jvm, and tests them on each JDK there.
# test.sh bench WORDS: runs the benchmark, on the newest JDK or the one in JAVA; WORDS are options of JMH's own command.
set -eu
cd "$(dirname "$0")"

# Lines "VERSION FOLDER", the newest first.
jdks=$(for javac in /usr/lib/jvm/*/bin/javac; do
    if [ -x "$javac" ]; then
        version=$("$javac" -version 2>&1 | sed 's/javac \([0-9]*\).*/\1/')
        echo "$version $(dirname "$(dirname "$(readlink -f "$javac")")")"
    fi
done | sort -rnu)
if [ -z "$jdks" ] || ! command -v mvn >/dev/null; then
    echo "SKIPPED: there is no JDK in /usr/lib/jvm, or no Maven"
    exit 0
fi
JAVA_HOME=$(echo "$jdks" | head -n 1 | cut -d' ' -f2)
export JAVA_HOME
maven="mvn --batch-mode --no-transfer-progress"
# Maven waits half an hour for an archive that does not answer.
if ! timeout 300 $maven --quiet dependency:resolve dependency:resolve-plugins >/dev/null; then
    echo "SKIPPED: Maven cannot fetch what the build needs"
    exit 0
fi
if [ "${1:-}" = bench ]; then
    shift
    target=../../target/java
    $maven --quiet verify -DskipITs dependency:build-classpath -Dmdep.outputFile="$PWD/$target/classpath"
    jar=$(echo $target/wellspring-java-*[0-9].jar)
    exec "${JAVA:-$JAVA_HOME/bin/java}" -cp "$jar:$target/test-classes:$(cat $target/classpath)" \
        wellspring.jca.test.ReadBenchmark "$@"
fi
echo "$jdks" | while read -r version folder; do
    [ "$version" -ge 17 ] || { echo "SKIPPED: the tests need Java 17, and $folder is Java $version"; continue; }
    echo "-- tests on Java $version"
    if [ "$folder" = "$JAVA_HOME" ]; then
        $maven verify </dev/null
    else
        $maven failsafe:integration-test failsafe:verify "-Djvm=$folder/bin/java" </dev/null
    fi
done
