import java.util.Random;
import java.util.Scanner;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/** Answers each line with a number of every kind. */
public class Draw {
    public static void main(String[] words) {
        Random random = new Random();
        SplittableRandom split = new SplittableRandom();
        Scanner lines = new Scanner(System.in);
        draw(random, split);
        while (lines.hasNextLine()) {
            lines.nextLine();
            System.out.println(draw(random, split));
        }
    }

    private static String draw(Random random, SplittableRandom split) {
        return "Random=" + random.nextLong() + " Math.random=" + Math.random() + " SplittableRandom=" + split.nextLong()
                + " ThreadLocalRandom=" + ThreadLocalRandom.current().nextLong() + " UUID=" + UUID.randomUUID();
    }
}
