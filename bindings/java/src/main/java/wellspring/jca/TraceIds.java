package wellspring.jca;

import io.opentelemetry.api.trace.SpanId;
import io.opentelemetry.api.trace.TraceId;
import io.opentelemetry.sdk.trace.IdGenerator;
import java.security.ProviderException;

/**
 * The identifiers of traces and spans for OpenTelemetry's SDK:
 * {@code SdkTracerProvider.builder().setIdGenerator(new TraceIds())}.
 *
 * <p>The SDK's own generator draws on {@link java.util.concurrent.ThreadLocalRandom}, so that copies of a machine or of a
 * checkpoint give its identifiers again. These come from wellspring's engine, which notices both.
 *
 * <p>This class alone needs the SDK, which the program brings: {@code io.opentelemetry:opentelemetry-sdk-trace}.
 */
@SuppressWarnings("exports")
public final class TraceIds implements IdGenerator {
    private static final int TRACE_BYTES = 16;
    private static final int SPAN_BYTES = 8;

    /**
     * Loads the native library, and waits until the generator is seeded. The provider need not be installed.
     *
     * @throws ProviderException if there is no library for this system, or if it cannot be loaded
     */
    public TraceIds() {
        Native.load();
    }

    /**
     * Makes the identifier of a trace: 128 random bits that are not all 0.
     *
     * @return 32 hexadecimal digits, in lower case
     */
    @Override
    public String generateTraceId() {
        byte[] random = new byte[TRACE_BYTES];
        String text;
        do {
            Native.check(Fill.fill(random, 0, TRACE_BYTES));
            text = TraceId.fromBytes(random);
        } while (text.equals(TraceId.getInvalid()));
        return text;
    }

    /**
     * Makes the identifier of a span: 64 random bits that are not all 0.
     *
     * @return 16 hexadecimal digits, in lower case
     */
    @Override
    public String generateSpanId() {
        byte[] random = new byte[SPAN_BYTES];
        String text;
        do {
            Native.check(Fill.fill(random, 0, SPAN_BYTES));
            text = SpanId.fromBytes(random);
        } while (text.equals(SpanId.getInvalid()));
        return text;
    }

    /**
     * Says that all bits are random, as W3C's flag {@code random-trace-id} asks. SDKs from 1.60 on set the flag.
     *
     * @return true
     */
    // No @Override: older SDKs do not ask.
    public boolean generatesRandomTraceIds() {
        return true;
    }

    @Override
    public String toString() {
        return "TraceIds{Wellspring}";
    }
}
