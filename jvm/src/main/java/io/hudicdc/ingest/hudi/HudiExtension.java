package io.hudicdc.ingest.hudi;

import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.hudi.HoodieSparkSessionExtension;
import scala.Function1;
import scala.Function2;
import scala.Tuple3;
import scala.collection.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Hudi's extension of Spark, whose costly rules look only at plans that concern them, with {@link TunedAdapter}.
 *
 * <p>Three rules of Hudi 1.2.0 look for a scan of a Hudi table below each operator of each plan, after each step of the
 * analyzer and the optimizer: a quarter of the time of all rules in a run, whose plans mostly read no Hudi table.
 */
public final class HudiExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    private static final Set<String> COSTLY = Set.of(
            "org.apache.spark.sql.hudi.analysis.HoodieAnalysis$AdaptIngestionTargetLogicalRelations",
            "org.apache.spark.sql.hudi.analysis.Spark3HoodiePruneFileSourcePartitions",
            "org.apache.spark.sql.execution.datasources.Spark35NestedSchemaPruning");

    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        TunedAdapter.install();
        new HoodieSparkSessionExtension().apply(new Forwarding(extensions));
        return BoxedUnit.UNIT;
    }

    private static Function1<SparkSession, Rule<LogicalPlan>> guarded(
            Function1<SparkSession, Rule<LogicalPlan>> builder) {
        return session -> {
            Rule<LogicalPlan> rule = builder.apply(session);
            return COSTLY.contains(rule.getClass().getName()) ? new ScanRule(rule) : rule;
        };
    }

    /** What Hudi injects, passed on to Spark. */
    private static final class Forwarding extends SparkSessionExtensions {
        private final SparkSessionExtensions target;

        Forwarding(SparkSessionExtensions target) {
            this.target = target;
        }

        @Override
        public void injectResolutionRule(Function1<SparkSession, Rule<LogicalPlan>> builder) {
            target.injectResolutionRule(guarded(builder));
        }

        @Override
        public void injectPostHocResolutionRule(Function1<SparkSession, Rule<LogicalPlan>> builder) {
            target.injectPostHocResolutionRule(guarded(builder));
        }

        @Override
        public void injectOptimizerRule(Function1<SparkSession, Rule<LogicalPlan>> builder) {
            target.injectOptimizerRule(guarded(builder));
        }

        @Override
        public void injectPreCBORule(Function1<SparkSession, Rule<LogicalPlan>> builder) {
            target.injectPreCBORule(guarded(builder));
        }

        @Override
        public void injectRuntimeOptimizerRule(Function1<SparkSession, Rule<LogicalPlan>> builder) {
            target.injectRuntimeOptimizerRule(builder);
        }

        @Override
        public void injectPlanNormalizationRule(Function1<SparkSession, Rule<LogicalPlan>> builder) {
            target.injectPlanNormalizationRule(builder);
        }

        @Override
        public void injectCheckRule(Function1<SparkSession, Function1<LogicalPlan, BoxedUnit>> builder) {
            target.injectCheckRule(builder);
        }

        @Override
        public void injectColumnar(Function1<SparkSession, ColumnarRule> builder) {
            target.injectColumnar(builder);
        }

        @Override
        public void injectQueryPostPlannerStrategyRule(Function1<SparkSession, Rule<SparkPlan>> builder) {
            target.injectQueryPostPlannerStrategyRule(builder);
        }

        @Override
        public void injectQueryStagePrepRule(Function1<SparkSession, Rule<SparkPlan>> builder) {
            target.injectQueryStagePrepRule(builder);
        }

        @Override
        public void injectQueryStageOptimizerRule(Function1<SparkSession, Rule<SparkPlan>> builder) {
            target.injectQueryStageOptimizerRule(builder);
        }

        @Override
        public void injectPlannerStrategy(Function1<SparkSession, SparkStrategy> builder) {
            target.injectPlannerStrategy(builder);
        }

        @Override
        public void injectParser(Function2<SparkSession, ParserInterface, ParserInterface> builder) {
            target.injectParser(builder);
        }

        @Override
        public void injectFunction(
                Tuple3<FunctionIdentifier, ExpressionInfo, Function1<Seq<Expression>, Expression>> description) {
            target.injectFunction(description);
        }

        @Override
        public void injectTableFunction(
                Tuple3<FunctionIdentifier, ExpressionInfo, Function1<Seq<Expression>, LogicalPlan>> description) {
            target.injectTableFunction(description);
        }
    }
}
