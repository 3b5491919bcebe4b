"""IAM of Amazon MSK: a URL signed with AWS credentials is the token of SASL OAUTHBEARER.

Users of MSK write `sasl.mechanism = "AWS_MSK_IAM"`.  Only AWS's Java client knows that mechanism.  The
brokers of MSK take the same signature as a token too, which librdkafka can send.  Both clients send it here.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ingest.kafka.login import jaas_line, jaas_options, wrong
from ingest.lazy import LazyModule

if TYPE_CHECKING:
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as signer  # noqa: N813  a module
else:
    signer = LazyModule("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")

MECHANISM: Final = "AWS_MSK_IAM"
TOKEN_MECHANISM: Final = "OAUTHBEARER"  # noqa: S105  no password
_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_HANDLER: Final = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
"""Of `software.amazon.msk:aws-msk-iam-auth` 2.0 and later, with `all` as classifier."""
_PROFILE, _ROLE, _SESSION = "awsProfileName", "awsRoleArn", "awsRoleSessionName"
_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")


def java_iam(properties: Mapping[str, str]) -> dict[str, str]:
    """Return Java's properties.  The Java client takes the region from `AWS_REGION`, also on executors."""
    return {
        "sasl.mechanism": TOKEN_MECHANISM,
        "sasl.jaas.config": jaas_line(_MODULE, _options(properties)),
        "sasl.login.callback.handler.class": _HANDLER,
    }


def client_iam(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's properties, with the function that signs each token."""
    region = next(filter(None, map(os.environ.get, _REGIONS)), None)
    if region is None:
        raise wrong("sasl.mechanism", f"{MECHANISM} needs the region", "Set AWS_REGION, on executors as well")
    options = _options(properties)
    try:
        sign = {
            _PROFILE: lambda: signer.generate_auth_token_from_profile(region, options[_PROFILE]),
            _ROLE: lambda: signer.generate_auth_token_from_role_arn(
                region, options[_ROLE], options.get(_SESSION, "ingest")
            ),
        }.get(next(iter(options), ""), partial(signer.generate_auth_token, region))
    except ImportError:
        todo = "pip install 'hudi-cdc-ingest[msk]'"
        raise wrong("sasl.mechanism", f"{MECHANISM} needs AWS's signer", todo) from None
    return {"sasl.mechanism": TOKEN_MECHANISM, "oauth_cb": partial(_token, sign)}


def _token(sign: Any, _config: str) -> tuple[str, float]:
    """Sign a token.  Return it with the end of its life, in seconds since 1970."""
    token, expires_ms = sign()
    return token, expires_ms / 1000


def _options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the credentials that the JAAS line of AWS's login names, by default the machine's."""
    options = jaas_options(properties.get("sasl.jaas.config", ""))
    unknown = options.keys() - {_PROFILE, _ROLE, _SESSION}
    if unknown:
        raise wrong(
            "sasl.jaas.config",
            f"has {', '.join(sorted(unknown))}; allowed: {_PROFILE}, or {_ROLE} with {_SESSION}",
            "Give other credentials by AWS's environment variables and files",
        )
    names = (_PROFILE,) if _PROFILE in options else (_ROLE, _SESSION)
    return {name: options[name] for name in names if name in options}
