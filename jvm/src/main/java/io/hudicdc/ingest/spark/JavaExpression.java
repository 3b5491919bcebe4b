package io.hudicdc.ingest.spark;

import java.io.Serializable;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import scala.collection.IndexedSeq;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * An expression that is written in Java: what Scala derives for a case class.
 *
 * <p>Two expressions of a class are equal if their children and their arguments are. Java cannot extend Spark's
 * UnaryExpression: the return type of a final method of it is too wide for Java.
 */
public abstract class JavaExpression extends Expression implements Serializable {
    private static final long serialVersionUID = 1L;

    private final Seq<Expression> children;
    private final Seq<Object> arguments;

    /** {@code arguments} are all values besides the children: serializable, and comparable by {@code equals}. */
    protected JavaExpression(List<Expression> children, List<?> arguments) {
        this.children = seq(children);
        this.arguments = seq(List.copyOf(arguments));
    }

    /** Return this expression over other children. */
    protected abstract JavaExpression over(List<Expression> others);

    /** Return the child at an index. */
    protected final Expression child(int at) {
        return children.apply(at);
    }

    /** Return generated code from a format of {@link String#format}. */
    protected static Block code(String format, Object... values) {
        return new CodeBlock(seq(List.of(String.format(format, values))), seq(List.of()));
    }

    @Override
    public final Seq<Expression> children() {
        return children;
    }

    @Override
    public final Expression withNewChildrenInternal(IndexedSeq<Expression> others) {
        return over(List.copyOf(JavaConverters.seqAsJavaList(others)));
    }

    /** Copy this expression and those below it: Spark would look for a constructor with all of these values. */
    @Override
    public final Expression clone() {
        return over(JavaConverters.seqAsJavaList(children).stream()
                .map(Expression::clone)
                .collect(Collectors.toUnmodifiableList()));
    }

    @Override
    public final int productArity() {
        return children.size() + arguments.size();
    }

    @Override
    public final Object productElement(int at) {
        return at < children.size() ? children.apply(at) : arguments.apply(at - children.size());
    }

    @Override
    public final boolean canEqual(Object other) {
        return other != null && getClass() == other.getClass();
    }

    @Override
    public final boolean equals(Object other) {
        return canEqual(other)
                && children.equals(((JavaExpression) other).children)
                && arguments.equals(((JavaExpression) other).arguments);
    }

    @Override
    public final int hashCode() {
        return 31 * children.hashCode() + arguments.hashCode();
    }

    private static <T> Seq<T> seq(List<? extends T> elements) {
        return JavaConverters.<T>asScalaBuffer(List.copyOf(elements)).toList();
    }
}
