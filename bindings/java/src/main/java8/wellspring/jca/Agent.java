package wellspring.jca;

import java.lang.reflect.InvocationTargetException;

/**
 * Installs the provider before the program's {@code main}: {@code java -javaagent:wellspring-java.jar}. Where the provider cannot
 * be loaded, one line on the standard error stream says why, and the program draws from the JDK's own generator. After
 * {@code -javaagent:wellspring-java.jar=required} the program does not start then, nor after another word.
 *
 * <p>Compiled for Java 8, whose JVM cannot read the other classes and would end at an agent that it cannot load.
 */
public final class Agent {
    private Agent() {}

    /** Called by the JVM; {@code words} are what follows the name of the jar. */
    public static void premain(String words) {
        if (words != null && !words.isEmpty() && !words.equals("required")) {
            throw new IllegalArgumentException("wellspring: the agent takes the word 'required' or none, not '" + words + "'");
        }
        try {
            Class.forName("wellspring.jca.WellspringProvider").getMethod("install").invoke(null);
        } catch (Exception | LinkageError error) {
            Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
            String reason = "wellspring: the provider cannot be installed: " + cause.getMessage();
            if ("required".equals(words)) {
                throw new IllegalStateException(reason, cause);
            }
            System.err.println(reason + "; the JDK's own generator serves");
        }
    }
}
