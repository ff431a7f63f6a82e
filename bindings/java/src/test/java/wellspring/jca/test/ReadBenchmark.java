package wellspring.jca.test;

import io.opentelemetry.sdk.trace.IdGenerator;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import wellspring.jca.TraceIds;
import wellspring.jca.WellspringProvider;

/** The provider beside the JDK's generators, by JMH. All threads share one instance. {@code test.sh bench} runs it. */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class ReadBenchmark {
    @State(Scope.Benchmark)
    public static class Shared {
        @Param({"Wellspring", "NativePRNG", "DRBG", "ThreadLocalRandom"})
        String generator;

        SecureRandom secure;

        @Setup
        public void make() throws NoSuchAlgorithmException {
            WellspringProvider.install();
            secure = generator.equals("ThreadLocalRandom") ? null : SecureRandom.getInstance(generator);
        }

        Random random() {
            return secure == null ? ThreadLocalRandom.current() : secure;
        }
    }

    @State(Scope.Thread)
    public static class Bytes {
        @Param({"16", "32", "4096", "1048576"})
        int size;

        byte[] bytes;

        @Setup
        public void make() {
            bytes = new byte[size];
        }
    }

    @State(Scope.Benchmark)
    public static class Uuid {
        @Param({"Wellspring", "NativePRNG"})
        String first;

        @Setup
        public void make() {
            if (first.equals("Wellspring")) {
                WellspringProvider.install();
            }
        }
    }

    @State(Scope.Benchmark)
    public static class Spans {
        @Param({"Wellspring", "SDK"})
        String generator;

        IdGenerator ids;

        @Setup
        public void make() {
            ids = generator.equals("SDK") ? IdGenerator.random() : new TraceIds();
        }
    }

    @Benchmark
    public byte[] read(Shared shared, Bytes bytes) {
        shared.random().nextBytes(bytes.bytes);
        return bytes.bytes;
    }

    @Benchmark
    public UUID randomUuid(Uuid uuid) {
        return UUID.randomUUID();
    }

    @Benchmark
    public String traceId(Spans spans) {
        return spans.ids.generateTraceId();
    }

    @Benchmark
    public String spanId(Spans spans) {
        return spans.ids.generateSpanId();
    }

    /** The options of JMH's own command. */
    public static void main(String[] words) throws RunnerException, CommandLineOptionException {
        new Runner(new CommandLineOptions(words)).run();
    }
}
