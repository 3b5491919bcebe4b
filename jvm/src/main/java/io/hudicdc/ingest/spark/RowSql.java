package io.hudicdc.ingest.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.Star;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.StructType;
import scala.collection.JavaConverters;

/** An expression of a table file over the columns of one row: analysed, never run. */
public final class RowSql {
    /** Expressions that Spark counts as deterministic, since they are constant within one query. */
    private static final Set<String> OF_THE_RUN = Set.of(
            "CurrentBatchTimestamp",
            "CurrentCatalog",
            "CurrentDatabase",
            "CurrentDate",
            "CurrentTimeZone",
            "CurrentTimestamp",
            "CurrentUser",
            "LocalTimestamp",
            "Now",
            "SparkVersion");
    /** Encryption with a random start, which its expression does not say. */
    private static final String RANDOM = "AesEncrypt";

    private static final String RAISES = "RaiseError";

    private RowSql() {}

    /**
     * Return the problem of an expression (empty if it has none), its type, and the columns that it reads.
     *
     * @param columns the columns that it may read
     */
    public static List<String> examine(SparkSession session, StructType columns, String text) {
        List<String> answer = new ArrayList<>();
        try {
            Expression parsed = session.sessionState().sqlParser().parseExpression(text);
            String problem = problemOfParsed(parsed);
            if (problem.isEmpty()) {
                return examineParsed(session, columns, parsed);
            }
            answer.add(problem);
        } catch (Exception error) { // Scala declares no exceptions
            if (!(error instanceof AnalysisException)) {
                throw new IllegalStateException(error);
            }
            answer.add("Spark cannot read it: " + firstSentence(error.getMessage()));
        }
        return answer;
    }

    private static List<String> examineParsed(SparkSession session, StructType columns, Expression parsed) {
        Dataset<Row> nothing = session.createDataFrame(List.of(), columns);
        LogicalPlan plan =
                nothing.select(new Column(parsed).as("value")).queryExecution().analyzed();
        if (!(plan instanceof Project) || !plan.children().head().children().isEmpty()) {
            return List.of("has an aggregate, a window or a function that makes several rows");
        }
        Expression resolved = plan.expressions().head();
        List<String> answer = new ArrayList<>(List.of(problemOfResolved(resolved)));
        answer.add(resolved.dataType().catalogString());
        answer.addAll(columnsOf(resolved));
        return answer;
    }

    private static String problemOfParsed(Expression parsed) {
        for (Expression part : parts(parsed)) {
            if (part instanceof PlanExpression) {
                return "has a subquery";
            }
            if (part instanceof Star) {
                return "names all columns with '*'";
            }
        }
        return "";
    }

    private static String problemOfResolved(Expression resolved) {
        for (Expression part : parts(resolved)) {
            String name = part.getClass().getSimpleName();
            if (OF_THE_RUN.contains(name)) {
                return "depends on the run, not on the row alone: " + part.prettyName();
            }
            if (RAISES.equals(name)) {
                return "raises errors, by raise_error or assert_true";
            }
            if (RANDOM.equals(name) || (!part.deterministic() && part.children().forall(Expression::deterministic))) {
                return "is not deterministic: " + part.prettyName();
            }
        }
        return "";
    }

    private static Set<String> columnsOf(Expression resolved) {
        Set<String> names = new TreeSet<>();
        for (Expression part : parts(resolved)) {
            if (part instanceof AttributeReference) {
                names.add(((AttributeReference) part).name());
            }
        }
        return names;
    }

    private static List<Expression> parts(Expression expression) {
        List<Expression> parts = new ArrayList<>(List.of(expression));
        for (int at = 0; at < parts.size(); at++) {
            parts.addAll(JavaConverters.seqAsJavaList(parts.get(at).children()));
        }
        return parts;
    }

    /** Return a message without the text of the query and the plan behind it. */
    private static String firstSentence(String message) {
        return message.strip().split("\n")[0].strip();
    }
}
