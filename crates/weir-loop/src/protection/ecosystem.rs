//! What decides about the checks of a kind of project: tests, manifests, lock files, and the configuration of runners.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ecosystem {
    /// Cargo.
    Rust,
    /// npm, pnpm, yarn, bun.
    Node,
    /// Go.
    Go,
    /// pytest, unittest, tox, nox.
    Python,
    /// Maven and Gradle.
    Java,
    /// Make.
    Make,
}

/// What decides about checks in every kind of project.
pub(super) const ALWAYS: &[&str] = &[
    ".github",
    ".gitlab-ci.yml",
    ".gitlab",
    ".circleci",
    ".forgejo",
    ".gitea",
    ".buildkite",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    ".pre-commit-config.yaml",
    ".envrc",
];

impl Ecosystem {
    /// The ecosystem of a gate's program.
    pub fn of_command(command: &[String]) -> Option<Self> {
        let name =
            |word: &String| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
        // Such as `env NAME=value cargo test`.
        let words = command.iter().filter_map(name);
        let mut words = words.skip_while(|word| {
            matches!(word.as_str(), "env" | "nice" | "time" | "timeout" | "xvfb-run") || word.contains('=')
        });
        let word = words.next()?;
        Some(match word.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.') {
            "cargo" | "rustc" | "cargo-nextest" => Self::Rust,
            "npm" | "npx" | "pnpm" | "pnpx" | "yarn" | "bun" | "bunx" | "node" | "deno" | "jest"
            | "vitest" => Self::Node,
            "go" | "gotestsum" | "golangci-lint" => Self::Go,
            "python" | "pytest" | "py.test" | "tox" | "nox" | "uv" | "poetry" | "pipenv" | "hatch" => {
                Self::Python
            }
            "mvn" | "mvnw" | "gradle" | "gradlew" => Self::Java,
            "make" | "gmake" => Self::Make,
            _ => return None,
        })
    }

    /// The name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Node => "node",
            Self::Go => "go",
            Self::Python => "python",
            Self::Java => "java",
            Self::Make => "make",
        }
    }

    /// The patterns of its files. They hold also for files that do not exist yet: a new one would count.
    pub fn patterns(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &[
                "**/tests",
                "**/benches",
                "**/Cargo.toml",
                "**/Cargo.lock",
                "**/.cargo",
                "**/build.rs",
                "rust-toolchain{,.toml}",
                "**/{,.}clippy.toml",
                "**/{,.}rustfmt.toml",
                ".config/nextest.toml",
            ],
            Self::Node => &[
                "**/{test,tests,spec,specs,e2e,__tests__,__mocks__,__snapshots__,cypress}",
                "**/*.{test,spec}.*",
                "**/package.json",
                "**/{package-lock.json,npm-shrinkwrap.json,yarn.lock,pnpm-lock.yaml,pnpm-workspace.yaml,bun.lock,bun.lockb}",
                "**/.{npmrc,yarnrc,yarnrc.yml,pnpmfile.cjs,nvmrc,node-version,mocharc*,babelrc*,swcrc,eslintrc*,eslintignore}",
                "**/{jest,vitest,vite,playwright,cypress,ava,babel,eslint,webpack,rollup,wdio}.config*",
                "**/{karma.conf*,tsconfig*.json,jsconfig*.json,biome.json*,deno.json*,bunfig.toml,vitest.workspace*,jest.setup*}",
                "**/node_modules",
                ".yarn",
            ],
            Self::Go => &[
                "**/*_test.go",
                "**/testdata",
                "**/{go.mod,go.sum,go.work,go.work.sum}",
                "**/vendor",
                "**/.golangci.*",
            ],
            Self::Python => &[
                "**/{test,tests}",
                "**/{test_*,*_test,conftest,noxfile,setup,sitecustomize,usercustomize}.py",
                "**/*.{pth,egg-link}",
                "**/{pytest.ini,.pytest.ini,tox.ini,setup.cfg,pyproject.toml,pytest.toml,.coveragerc,mypy.ini,.mypy.ini}",
                "**/{ruff.toml,.ruff.toml,.flake8,.pylintrc,pylintrc}",
                "**/{requirements*.txt,Pipfile,Pipfile.lock,poetry.lock,uv.lock,.python-version}",
                // Modules that a runner would find here before its own.
                "{pytest,_pytest,pluggy,iniconfig,unittest,doctest,site,tox,nox,coverage,pytest_*}{,.py}",
            ],
            Self::Java => &[
                "**/src/{test,integrationTest,testFixtures}",
                "**/pom.xml",
                ".mvn",
                "**/*.{gradle,gradle.kts}",
                "**/gradle.properties",
                "gradle",
                "buildSrc",
                "{gradlew,mvnw}{,.bat,.cmd}",
            ],
            Self::Make => &["**/{Makefile,makefile,GNUmakefile}", "**/*.mk"],
        }
    }
}
