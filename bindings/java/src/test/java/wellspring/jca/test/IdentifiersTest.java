package wellspring.jca.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SdkTracerProviderBuilder;
import io.opentelemetry.sdk.trace.SpanProcessor;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import wellspring.jca.Identifiers;
import wellspring.jca.TraceIds;

/** Identifiers have the form of their standard, ascend in a thread where they say so, and never repeat. */
class IdentifiersTest {
    private static final int COUNT = 100_000;

    private static <T> List<T> many(Supplier<T> make) {
        List<T> made = new ArrayList<>(COUNT);
        for (int i = 0; i < COUNT; i++) {
            made.add(make.get());
        }
        return made;
    }

    private static <T extends Comparable<T>> boolean ascends(List<T> made) {
        for (int i = 1; i < made.size(); i++) {
            if (made.get(i - 1).compareTo(made.get(i)) >= 0) {
                return false;
            }
        }
        return true;
    }

    private static boolean has(UUID id, int version) {
        return id.version() == version && id.variant() == 2;
    }

    @Test
    void uuidsHaveTheirVersionAndThoseOfVersion7AscendFromNowOn() {
        long beforeMs = System.currentTimeMillis();
        List<UUID> ordered = many(Identifiers::uuid7);
        List<UUID> random = many(Identifiers::uuid4);
        assertTrue(ordered.stream().allMatch(id -> has(id, 7)) && random.stream().allMatch(id -> has(id, 4)));
        assertTrue(ascends(ordered) && !ascends(random));
        assertEquals(COUNT, Set.copyOf(random).size());
        long timeMs = ordered.get(0).getMostSignificantBits() >>> 16;
        // The coarse clock is late by 10 ms, and by more on a virtual CPU that waits for its host.
        assertTrue(timeMs >= beforeMs - 60_000 && timeMs <= System.currentTimeMillis(), timeMs + " and " + beforeMs);
    }

    @Test
    void textsHaveTheirDigitsAndUlidsAscend() {
        List<String> ulids = many(Identifiers::ulid);
        assertTrue(ulids.stream().allMatch(id -> id.matches("0[0-9A-HJKMNP-TV-Z]{25}")) && ascends(ulids));
        for (int bytes : new int[] {16, 32}) {
            List<String> traces = many(() -> Identifiers.traceId(bytes));
            assertTrue(traces.stream().allMatch(id -> id.matches("[0-9a-f]{" + 2 * bytes + "}")));
            assertEquals(COUNT, Set.copyOf(traces).size());
        }
        for (int wrong : new int[] {Integer.MIN_VALUE, -16, 0, 8, 17, 64, Integer.MAX_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> Identifiers.traceId(wrong));
        }
    }

    @Test
    void spansOfOpenTelemetryHaveRandomIdentifiersAndItsFlagSaysSo() {
        // A provider whose spans go nowhere makes none that are valid.
        SpanProcessor processor = new SpanProcessor() {
            @Override
            public void onStart(Context parent, ReadWriteSpan span) {}

            @Override
            public boolean isStartRequired() {
                return true;
            }

            @Override
            public void onEnd(ReadableSpan span) {}

            @Override
            public boolean isEndRequired() {
                return false;
            }
        };
        SdkTracerProviderBuilder builder = SdkTracerProvider.builder().addSpanProcessor(processor);
        try (SdkTracerProvider provider = builder.setIdGenerator(new TraceIds()).build()) {
            Tracer tracer = provider.get("test");
            List<SpanContext> made = many(() -> tracer.spanBuilder("work").setNoParent().startSpan().getSpanContext());
            assertTrue(made.stream().allMatch(one -> one.isValid() && one.getTraceFlags().isTraceIdRandom()));
            assertEquals(COUNT, made.stream().map(SpanContext::getTraceId).distinct().count());
            assertEquals(COUNT, made.stream().map(SpanContext::getSpanId).distinct().count());
            // Each digit has each of its 16 values.
            for (int place = 0; place < 32; place++) {
                int digit = place;
                assertEquals(16, made.stream().map(one -> one.getTraceId().charAt(digit)).distinct().count());
                assertEquals(16, made.stream().map(one -> one.getSpanId().charAt(digit / 2)).distinct().count());
            }
            Span parent = tracer.spanBuilder("work").setNoParent().startSpan();
            Span child = tracer.spanBuilder("part").setParent(Context.root().with(parent)).startSpan();
            assertEquals(parent.getSpanContext().getTraceId(), child.getSpanContext().getTraceId());
            assertTrue(child.getSpanContext().getTraceFlags().isTraceIdRandom());
        }
    }

    @Test
    void threadsRepeatNothing() throws Exception {
        Set<Object> all = ConcurrentHashMap.newKeySet();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(new Thread(() -> {
                for (int j = 0; j < 10_000; j++) {
                    all.addAll(List.of(Identifiers.uuid7(), Identifiers.uuid4(), Identifiers.ulid()));
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(8 * 10_000 * 3, all.size());
    }
}
