"""The login of Amazon MSK: one mechanism in the settings, a token for each client."""

import sys

import pytest

from ingest.errors import SettingsError
from ingest.kafka.properties import client_properties, spark_properties

IAM = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def test_java_gets_a_token_by_awss_handler() -> None:
    """The properties that the pages of MSK name for its own mechanism are replaced."""
    amazons = {
        "sasl.jaas.config": 'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="dev";',
        "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    }
    assert spark_properties(IAM | amazons) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.jaas.config": f'{MODULE} required awsProfileName="dev";',
        "kafka.sasl.login.callback.handler.class":
            "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
    }  # fmt: skip


def test_a_role_is_given_to_java_with_its_session() -> None:
    """`awsRoleArn` and `awsRoleSessionName`."""
    jaas = 'x.IAMLoginModule required awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName="s";'
    java = spark_properties(IAM | {"sasl.jaas.config": jaas})
    assert java["kafka.sasl.jaas.config"] == (
        f'{MODULE} required awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName="s";'
    )


def test_an_unknown_option_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both clients would need it, and only Java's knows it; its value is not shown."""
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    jaas = 'x.IAMLoginModule required awsStsRegion="s3cret";'
    for translate in (client_properties, spark_properties):
        with pytest.raises(SettingsError, match=r"sasl\.jaas\.config: has awsStsRegion; allowed: ") as wrong:
            translate(IAM | {"sasl.jaas.config": jaas})
        assert "s3cret" not in str(wrong.value)


def test_the_region_and_the_signer_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing region and a missing package are named before a broker is asked."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match=r"AWS_MSK_IAM needs the region\. Set AWS_REGION"):
        client_properties(IAM)
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer.MSKAuthTokenProvider", None)
    with pytest.raises(SettingsError, match=r"needs AWS's signer. pip install 'hudi-cdc-ingest\[msk\]'"):
        client_properties(IAM)
