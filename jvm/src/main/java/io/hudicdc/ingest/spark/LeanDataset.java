package io.hudicdc.ingest.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.TypedColumn;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * A dataset that makes its encoder when something asks for it.
 *
 * <p>Spark makes one for each step of a query: expressions that turn each column into a value for users and back. A
 * query whose result stays in Spark's own rows needs none. The steps that {@code ingest} takes are overridden here; all
 * others make the encoder.
 */
public final class LeanDataset extends Dataset<Row> {
    private static final long serialVersionUID = 1L;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ExpressionEncoder<Row> NO_COLUMNS = ExpressionEncoder.apply(new StructType());
    private static final boolean IS_STREAMING = false;
    private static final boolean IS_GLOBAL = true;

    private transient ExpressionEncoder<Row> own;

    private LeanDataset(SparkSession session, LogicalPlan plan) {
        super(session, plan, NO_COLUMNS);
    }

    /** Return the dataset of a plan, which is analysed at once. */
    private static Dataset<Row> of(SparkSession session, LogicalPlan plan) {
        return session.withActive(() -> new LeanDataset(session, plan));
    }

    /** Return a dataset of rows, as {@code SparkSession.internalCreateDataFrame} does. */
    public static Dataset<Row> of(SparkSession session, RDD<InternalRow> rows, StructType schema) {
        return of(session, rows, schema, new UnknownPartitioning(0));
    }

    /** Return a dataset of rows, whose partitioning Spark is to know about. */
    public static Dataset<Row> of(
            SparkSession session, RDD<InternalRow> rows, StructType schema, Partitioning partitioning) {
        LogicalRDD plan = new LogicalRDD(
                toSeq(JavaConverters.seqAsJavaList(DataTypeUtils.toAttributes(schema))),
                rows,
                partitioning,
                toSeq(List.<SortOrder>of()),
                IS_STREAMING,
                session,
                Option.empty(),
                Option.empty());
        plan.setAnalyzed(); // a leaf with resolved columns: Spark's rules would only look at it
        return of(session, plan);
    }

    /** Return the columns of a dataset that a JSON array of expressions gives. */
    public static Dataset<Row> selectAll(Dataset<Row> rows, String expressions) throws JsonProcessingException {
        return rows.selectExpr(JSON.readValue(expressions, String[].class));
    }

    @Override
    public synchronized ExpressionEncoder<Row> exprEnc() {
        if (own == null) {
            own = ExpressionEncoder.apply(schema());
        }
        return own;
    }

    @Override
    public Encoder<Row> encoder() {
        return exprEnc();
    }

    @Override
    public Dataset<Row> toDF() {
        return this;
    }

    @Override
    public Dataset<Row> select(Seq<Column> columns) {
        List<Column> list = JavaConverters.seqAsJavaList(columns);
        if (list.stream().anyMatch(TypedColumn.class::isInstance)) {
            return super.select(columns);
        }
        Seq<NamedExpression> named = toSeq(list.stream().map(Column::named).collect(Collectors.toList()));
        return of(sparkSession(), new Project(named, logicalPlan()));
    }

    @Override
    public Dataset<Row> filter(Column condition) {
        return of(sparkSession(), new Filter(condition.expr(), logicalPlan()));
    }

    @Override
    public Dataset<Row> sortWithinPartitions(Seq<Column> columns) {
        Seq<SortOrder> order = toSeq(JavaConverters.seqAsJavaList(columns).stream()
                .map(column -> (SortOrder) (isOrder(column) ? column : column.asc()).expr())
                .collect(Collectors.toList()));
        return of(sparkSession(), new Sort(order, !IS_GLOBAL, logicalPlan()));
    }

    private static boolean isOrder(Column column) {
        return column.expr() instanceof SortOrder;
    }

    private static <T> Seq<T> toSeq(List<? extends T> items) {
        return JavaConverters.asScalaBuffer(List.<T>copyOf(items)).toSeq();
    }
}
