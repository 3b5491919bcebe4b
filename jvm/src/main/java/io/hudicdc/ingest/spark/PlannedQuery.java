package io.hudicdc.ingest.spark;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SQLExecutionRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A query over few rows that Spark analyses, optimises and plans once, for batch after batch.
 *
 * <p>In a small commit these steps cost more than the rows. The plan of the first batch stays; another batch's rows take
 * the place of its input.
 */
public final class PlannedQuery {
    private static final ClassTag<InternalRow> ROWS = ClassTag$.MODULE$.apply(InternalRow.class);
    private static final ClassTag<Object> OBJECTS = ClassTag$.MODULE$.apply(Object.class);

    private final StructType inputSchema;
    private final StructType schema;
    private final SparkPlan plan;
    private final AtomicBoolean isUsed = new AtomicBoolean();
    private Compiled compiled;

    private PlannedQuery(StructType inputSchema, StructType schema, SparkPlan plan) {
        this.inputSchema = inputSchema;
        this.schema = schema;
        this.plan = plan;
    }

    /** Return the input of a query to plan: no rows, in one partition, with the columns of {@code rows}. */
    public static Dataset<Row> input(Dataset<Row> rows) {
        SparkSession session = rows.sparkSession();
        return inOnePartition(session, session.sparkContext().emptyRDD(ROWS), rows.schema());
    }

    /** Return a dataset of rows in one partition, which Spark knows about: an aggregate needs no shuffle. */
    public static Dataset<Row> inOnePartition(SparkSession session, RDD<InternalRow> rows, StructType schema) {
        return LeanDataset.of(session, rows, schema, SinglePartition$.MODULE$);
    }

    /** Plan a query over {@code input}; null if its plan does not read this input once, without a shuffle. */
    public static PlannedQuery of(Dataset<Row> input, Dataset<Row> query) {
        SparkPlan plan = query.queryExecution().sparkPlan();
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

    /**
     * Return the result of the query over rows; nothing runs before it is evaluated.
     *
     * <p>The first batch is interpreted. Most processes have one batch of a table, and to compile its queries would cost
     * more than its rows.
     */
    public Dataset<Row> over(Dataset<Row> rows) {
        SparkSession session = rows.sparkSession();
        RDD<InternalRow> input = coalesce(input(rows.queryExecution()));
        RDD<InternalRow> result =
                isUsed.getAndSet(true) ? compiled(session).over(session, input) : interpreted(session, input);
        return inOnePartition(session, result, schema);
    }

    private RDD<InternalRow> interpreted(SparkSession session, RDD<InternalRow> input) {
        SQLConf conf = InterpretedRows.settings(session);
        SparkPlan prepared = prepare(session, conf);
        return new InterpretedRows(execute(session, prepared, input), conf);
    }

    private synchronized Compiled compiled(SparkSession session) {
        if (compiled == null) {
            compiled = new Compiled(prepare(session, session.sessionState().conf()));
        }
        return compiled;
    }

    /** Make a plan ready to run, but not adaptively: Spark would plan an aggregate again each time. */
    private SparkPlan prepare(SparkSession session, SQLConf conf) {
        return session.withActive(
                () -> SQLConf.withExistingConf(conf, () -> QueryExecution.prepareExecutedPlan(session, plan)));
    }

    /** Return the rows behind a plan; those that have no plan yet are not planned. */
    private static RDD<InternalRow> input(QueryExecution execution) {
        LogicalPlan logical = execution.logical();
        return logical instanceof LogicalRDD ? ((LogicalRDD) logical).rdd() : execution.toRdd();
    }

    private static RDD<InternalRow> coalesce(RDD<InternalRow> rows) {
        return rows.getNumPartitions() == 1
                ? rows
                : rows.toJavaRDD().coalesce(1).rdd();
    }

    /** A plan whose stages have generated code. */
    private static final class Compiled {
        private final SparkPlan plan;
        private final WholeStageCodegenEvaluatorFactory generated;

        Compiled(SparkPlan plan) {
            this.plan = plan;
            generated = generate(plan);
        }

        RDD<InternalRow> over(SparkSession session, RDD<InternalRow> input) {
            RDD<InternalRow> result = generated == null
                    ? execute(session, plan, input)
                    : input.mapPartitionsWithEvaluator(generated, ROWS);
            // The tasks see the session's settings, as those of any query do.
            return new SQLExecutionRDD(result, session.sessionState().conf());
        }

        /**
         * Return the generated code of a plan that is one stage; null for any other plan.
         *
         * <p>Spark generates the text of a stage each time that it runs, to find the compiled class by it.
         */
        private static WholeStageCodegenEvaluatorFactory generate(SparkPlan plan) {
            if (!(plan instanceof WholeStageCodegenExec) || !isOneStage(((WholeStageCodegenExec) plan).child())) {
                return null;
            }
            WholeStageCodegenExec stage = (WholeStageCodegenExec) plan;
            Tuple2<CodegenContext, CodeAndComment> code = stage.doCodeGen();
            if (largestMethod(code._2()) > plan.conf().hugeMethodLimit()) {
                return null; // Spark runs such a stage without its generated code
            }
            Object[] references = (Object[]) code._1().references().toArray(OBJECTS);
            return new WholeStageCodegenEvaluatorFactory(code._2(), stage.longMetric("pipelineTime"), references);
        }

        /** Return the bytes of the largest method; the most possible for code that cannot be compiled. */
        private static int largestMethod(CodeAndComment code) {
            try {
                return CodeGenerator.compile(code)._2().maxMethodCodeSize();
            } catch (Exception tooLarge) { // "grows beyond 64 KB": Scala declares no exceptions
                return Integer.MAX_VALUE;
            }
        }

        /** Whether the operators of a stage are a chain over its input. */
        private static boolean isOneStage(SparkPlan operator) {
            return operator instanceof RDDScanExec
                    || (operator.children().size() == 1
                            && !(operator instanceof InputAdapter)
                            && isOneStage(operator.children().head()));
        }
    }

    private static RDD<InternalRow> execute(SparkSession session, SparkPlan plan, RDD<InternalRow> input) {
        return session.withActive(() -> withInput(plan, input).execute());
    }

    private static SparkPlan withInput(SparkPlan plan, RDD<InternalRow> rows) {
        if (plan instanceof RDDScanExec) {
            RDDScanExec scan = (RDDScanExec) plan;
            return new RDDScanExec(scan.output(), rows, scan.name(), scan.outputPartitioning(), scan.outputOrdering());
        }
        List<SparkPlan> children = JavaConverters.seqAsJavaList(plan.children()).stream()
                .map(child -> withInput(child, rows))
                .collect(Collectors.toList());
        return plan.withNewChildren(toSeq(children));
    }

    private static <T> Seq<T> toSeq(List<? extends T> items) {
        return JavaConverters.asScalaBuffer(List.<T>copyOf(items)).toSeq();
    }
}
