package io.hudicdc.ingest.spark;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import javax.management.JMException;
import javax.management.ObjectName;

/** Writes the classes that this JVM loaded to a class-data archive, for faster starts of later JVMs. */
public final class ClassArchive {
    /** Follows the archive in its file: a JVM that maps a file that was cut off crashes. */
    private static final String END = "ingest class archive\n";

    private ClassArchive() {}

    /**
     * Write the archive when this JVM ends. Takes about ten seconds, after the caller's process has ended.
     *
     * <p>A JVM that is killed writes none: {@code -XX:ArchiveClassesAtExit} would write one also after a run that was
     * stopped or failed. Needs {@code -XX:+RecordDynamicDumpInfo} (Java 17).
     *
     * @param path the archive; other JVMs see it complete or not at all
     * @param failure a file to write the reason to if there is no archive
     */
    public static void writeAtExit(String path, String failure) {
        Runtime.getRuntime()
                .addShutdownHook(new Thread(() -> write(Path.of(path), Path.of(failure)), "ingest-class-archive"));
    }

    private static void write(Path path, Path failure) {
        System.setOut(new PrintStream(OutputStream.nullOutputStream())); // Java's own word that it dumps
        Path unfinished = path.resolveSibling(
                path.getFileName() + "." + ProcessHandle.current().pid());
        try {
            String answer = dump(unfinished);
            if (!Files.exists(unfinished)) {
                throw new IOException(answer);
            }
            Files.setPosixFilePermissions(unfinished, PosixFilePermissions.fromString("rw-------"));
            Files.writeString(unfinished, END, StandardOpenOption.APPEND);
            Files.move(unfinished, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException | JMException | RuntimeException e) {
            report(e, unfinished, failure);
        }
    }

    private static String dump(Path file) throws JMException {
        Object[] arguments = {new String[] {"dynamic_dump", file.toString()}};
        String[] types = {String[].class.getName()};
        ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
        return (String) ManagementFactory.getPlatformMBeanServer().invoke(commands, "vmCds", arguments, types);
    }

    private static void report(Exception problem, Path unfinished, Path failure) {
        try {
            Files.deleteIfExists(unfinished);
            Files.writeString(failure, problem.toString());
        } catch (IOException e) {
            problem.addSuppressed(e); // without the file the next JVM tries again
        }
    }
}
