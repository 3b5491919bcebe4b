package io.hudicdc.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.Test;

/**
 * The names of static methods, which Python looks up.
 *
 * <p>py4j takes the first method of a name, in the order of {@code Class.getMethods}, which differs between JVMs. It
 * finds a static method only if the class has no other method of that name, inherited ones included.
 */
class StaticNamesTest {
    private static final int FEWEST_CLASSES = 50;

    @Test
    void noOtherMethodHasTheNameOfAStaticMethod() throws IOException, URISyntaxException {
        List<Class<?>> classes = classes();
        assertTrue(classes.size() > FEWEST_CLASSES, classes::toString);
        assertEquals(
                List.of(), classes.stream().flatMap(StaticNamesTest::shared).collect(Collectors.toList()));
    }

    private static Stream<String> shared(Class<?> of) {
        Map<Boolean, Set<String>> names = Stream.of(of.getMethods())
                .collect(Collectors.partitioningBy(
                        method -> Modifier.isStatic(method.getModifiers()),
                        Collectors.mapping(Method::getName, Collectors.toSet())));
        return names.get(true).stream().filter(names.get(false)::contains).map(name -> of.getName() + "." + name);
    }

    private static List<Class<?>> classes() throws IOException, URISyntaxException {
        Path root = Path.of(Expressions.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (Stream<Path> files = Files.walk(root)) {
            return files.map(file -> root.relativize(file).toString())
                    .filter(name -> name.endsWith(".class") && !name.endsWith("package-info.class"))
                    .map(name -> load(
                            name.substring(0, name.length() - ".class".length()).replace('/', '.')))
                    .filter(of -> !FileSystem.class.isAssignableFrom(of)) // Hadoop calls these
                    .collect(Collectors.toList());
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, Expressions.class.getClassLoader());
        } catch (ClassNotFoundException error) {
            throw new IllegalStateException(error);
        }
    }
}
