package wellspring;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.InvocationTargetException;

/**
 * Starts {@link CloneGuard} where it knows the runtime, and steps aside with one line where it does not, or where anything fails:
 * an exception in {@code premain} would end the JVM. After {@code -javaagent:clone-guard.jar=required} it does end.
 *
 * <p>Compiled for Java 8, so that older runtimes can load this class. The others need the newer ones below.
 */
public final class CloneGuardAgent {
    /** The first and the last Java whose class files the guard can read and write: it uses the JDK's own library for them. */
    private static final int FIRST = 17;

    private static final int LAST = 23;

    private CloneGuardAgent() {}

    /** Called before the program's {@code main}. */
    public static void premain(String words, Instrumentation instrumentation) {
        try {
            String version = System.getProperty("java.specification.version");
            int feature = version.startsWith("1.") ? 8 : Integer.parseInt(version);
            if (feature < FIRST || feature > LAST) {
                throw new UnsupportedOperationException("it knows Java " + FIRST + " to " + LAST + ", and this is " + version);
            }
            Class.forName("wellspring.CloneGuard")
                    .getMethod("start", Instrumentation.class)
                    .invoke(null, instrumentation);
        } catch (Throwable error) {
            Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
            if ("required".equals(words)) {
                throw new IllegalStateException("wellspring-clone-guard: " + cause.getMessage(), cause);
            }
            System.err.println("wellspring-clone-guard steps aside: " + cause);
        }
    }
}
