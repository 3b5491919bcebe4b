package io.hudicdc.ingest;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.JavaConverters;

/**
 * A query over few rows that Spark analyses, optimises and plans once, for batch after batch.
 *
 * <p>In a small commit these steps cost more than the rows. The plan of the first batch stays; another batch's rows take
 * the place of its input.
 */
public final class PlannedQuery {
    private final StructType inputSchema;
    private final StructType schema;
    private final SparkPlan plan;

    private PlannedQuery(StructType inputSchema, StructType schema, SparkPlan plan) {
        this.inputSchema = inputSchema;
        this.schema = schema;
        this.plan = plan;
    }

    /** Return the input of a query to plan: no rows, in one partition, with the columns of {@code rows}. */
    public static Dataset<Row> input(Dataset<Row> rows) {
        SparkSession session = rows.sparkSession();
        RDD<InternalRow> none =
                session.sparkContext().emptyRDD(scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class));
        return session.internalCreateDataFrame(none, rows.schema(), false).coalesce(1);
    }

    /** Plan a query over {@code input}; null if its plan does not read this input once, without a shuffle. */
    public static PlannedQuery of(Dataset<Row> input, Dataset<Row> query) {
        SparkPlan plan = query.queryExecution().executedPlan();
        List<SparkPlan> leaves =
                JavaConverters.seqAsJavaList(plan.collectLeaves().toSeq());
        LogicalRDD nothing =
                (LogicalRDD) input.queryExecution().logical().collectLeaves().head();
        boolean isOver = leaves.size() == 1
                && leaves.get(0) instanceof RDDScanExec
                && ((RDDScanExec) leaves.get(0)).rdd() == nothing.rdd();
        return isOver ? new PlannedQuery(input.schema(), query.schema(), plan) : null;
    }

    /** Return whether rows have the columns that the query was planned for. */
    public boolean isOver(Dataset<Row> rows) {
        return inputSchema.equals(rows.schema());
    }

    /** Return the result of the query over rows; nothing runs before it is evaluated. */
    public Dataset<Row> over(Dataset<Row> rows) {
        QueryExecution execution = rows.queryExecution();
        RDD<InternalRow> result =
                SQLExecution.withNewExecutionId(execution, Option.empty(), () -> withInput(plan, execution.toRdd())
                        .execute());
        return rows.sparkSession().internalCreateDataFrame(result, schema, false);
    }

    private static SparkPlan withInput(SparkPlan plan, RDD<InternalRow> rows) {
        if (plan instanceof RDDScanExec) {
            RDDScanExec scan = (RDDScanExec) plan;
            return new RDDScanExec(scan.output(), rows, scan.name(), scan.outputPartitioning(), scan.outputOrdering());
        }
        List<SparkPlan> children = JavaConverters.seqAsJavaList(plan.children()).stream()
                .map(child -> withInput(child, rows))
                .collect(Collectors.toList());
        return plan.withNewChildren(JavaConverters.asScalaBuffer(children).toSeq());
    }
}
