"""The environment of an install: caches of our own, the user's registry settings, and little else. Pure but for looking
for the user's configuration files.
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from benchflow.machine.home import Home

_PASSED = frozenset(
    {
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "NETRC",
    }
)
"""Certificates, proxies and logins, in capitals or not."""

_PASSED_PREFIXES = ("PIP_", "UV_", "NPM_CONFIG_")
_NOT_PASSED = re.compile(
    r"PIP_(TARGET|PREFIX|ROOT|USER|PYTHON|LOG|SRC|REQUIRE_VIRTUALENV|CACHE_DIR)"
    r"|UV_(PYTHON|PROJECT|PROJECT_ENVIRONMENT|WORKING_DIRECTORY|SYSTEM_PYTHON|ENV_FILE|CACHE_DIR|LINK_MODE)"
    r"|UV_(TOOL_DIR|TOOL_BIN_DIR|PYTHON_INSTALL_DIR|PYTHON_BIN_DIR)"
    r"|NPM_CONFIG_(PREFIX|CACHE|GLOBAL|GLOBAL_PREFIX|LOCAL_PREFIX|DRY_RUN|WORKSPACES?|DEVDIR|USER_AGENT|NODE_OPTIONS)"
)
"""Settings of package managers that say where things go and not where they come from: that is for us to say."""

_URL_SECRET = re.compile(r"://(?:[^/@\s:]*:)?([^/@\s]+)@")
"""The password of a URL, or the token that stands alone before its host."""

_CONFIG_FILES = {
    "PIP_CONFIG_FILE": (".config/pip/pip.conf", ".pip/pip.conf", "Library/Application Support/pip/pip.conf"),
    "UV_CONFIG_FILE": (".config/uv/uv.toml",),
    "NPM_CONFIG_USERCONFIG": (".npmrc",),
    "NETRC": (".netrc",),
}
"""Variables that name a configuration file of the user's, which is not found by itself, because HOME is another."""


def registry_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what tells package managers where registries are and how to reach them."""
    found = {name: value for name, value in environ.items() if _is_passed(name.upper())}
    present = {name.upper() for name in found}
    for variable, files in _CONFIG_FILES.items():
        paths = [Path(environ["HOME"], file) for file in files] if environ.get("HOME") else []
        existing = [path for path in paths if path.is_file()]
        if existing and variable not in present:
            found[variable] = str(existing[0])
    if "NPM_CONFIG_GLOBALCONFIG" not in present and (file := _npm_global_config(environ)):
        found["NPM_CONFIG_GLOBALCONFIG"] = str(file)
    return found


def _npm_global_config(environ: Mapping[str, str]) -> Path | None:
    """Return the machine's own settings of npm, which npm looks for below its prefix: an install has another."""
    npm = shutil.which("npm", path=environ.get("PATH"))
    file = Path(npm).parent.parent / "etc" / "npmrc" if npm else None
    return file if file and file.is_file() else None


def registry_secrets(settings: Mapping[str, str]) -> list[str]:
    """Return the passwords and tokens that stand in registry settings, which no log may show."""
    of_urls = [secret for value in settings.values() for secret in _URL_SECRET.findall(value)]
    of_names = [value for name, value in settings.items() if re.search(r"(?i)password|token|_auth", name)]
    return [*of_urls, *of_names]


def cache_variables(cache: Path) -> dict[str, str]:
    """Return the settings that put every download into one cache, and make installs quiet and the same each time."""
    return {
        "XDG_CACHE_HOME": str(cache),  # of node-gyp, too
        "PIP_CACHE_DIR": str(cache / "pip"),
        "UV_CACHE_DIR": str(cache / "uv"),
        # A link into the cache would let an agent that changes its own files change those of others.
        "UV_LINK_MODE": "copy",
        # Inside of a sandbox the install cannot be written, so what is not compiled now is compiled at every start.
        "UV_COMPILE_BYTECODE": "1",
        "npm_config_cache": str(cache / "npm"),
        "npm_config_update_notifier": "false",
        "npm_config_fund": "false",
        "npm_config_audit": "false",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "NO_COLOR": "1",
    }


def install_environment(
    environ: Mapping[str, str], *, home: Home, folder: Path, tmp: Path, path: str, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the whole environment of a command that installs into `folder`; `variables` are the canonical ones."""
    return {
        **registry_settings(environ),
        **cache_variables(home.cache),
        "PATH": path,
        "HOME": str(folder / ".home"),
        "TMPDIR": str(tmp),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "USER": environ.get("USER", "agent"),
        "TERM": "dumb",
        **variables,
    }


def _is_passed(name: str) -> bool:
    return name in _PASSED or (name.startswith(_PASSED_PREFIXES) and not _NOT_PASSED.fullmatch(name))
