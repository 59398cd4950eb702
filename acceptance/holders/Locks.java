/** A monitor and a lock of Java whose holders are known: `java Locks.java SECONDS LOG`, with the log of locks.c, but names instead of TIDs. */
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.locks.ReentrantLock;

public class Locks {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();

    record Hold(int lock, String name, long from, long to) {}

    static void spend(int busyUs, boolean sleeps) throws InterruptedException {
        for (long end = System.nanoTime() + busyUs * 1000L; System.nanoTime() < end; ) {}
        if (sleeps) Thread.sleep(1);
    }

    public static void main(String[] words) throws Exception {
        long end = System.nanoTime() + (long) (Double.parseDouble(words[0]) * 1e9);
        var all = new ArrayList<Hold>();
        var threads = new ArrayList<Thread>();
        for (int number = 0; number < 5; number++) {
            String name = "locks" + number;
            var random = new Random(number);
            var thread = new Thread(() -> {
                var holds = new ArrayList<Hold>();
                try {
                    while (System.nanoTime() < end) {
                        int busy = 100 + random.nextInt(400);
                        boolean sleeps = random.nextInt(3) == 0;
                        long from;
                        if (random.nextBoolean()) {
                            synchronized (MONITOR) {
                                from = System.nanoTime();
                                spend(busy, sleeps);
                                holds.add(new Hold(0, name, from, System.nanoTime()));
                            }
                        } else {
                            LOCK.lock();
                            from = System.nanoTime();
                            spend(busy, sleeps);
                            holds.add(new Hold(1, name, from, System.nanoTime()));
                            LOCK.unlock();
                        }
                        spend(random.nextInt(200), random.nextInt(3) == 0);
                    }
                } catch (InterruptedException why) {
                    throw new IllegalStateException(why);
                }
                synchronized (all) {
                    all.addAll(holds);
                }
            }, name);
            threads.add(thread);
            thread.start();
        }
        for (var thread : threads) thread.join();
        try (var log = new PrintWriter(words[1])) {
            for (var hold : all) log.println(hold.lock + " " + hold.name + " " + hold.from + " " + hold.to);
        }
    }
}
