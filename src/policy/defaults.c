#include "policy/defaults.h"

#include <string.h>

const char *const cc_default_deny_names[] = {
	"**/.env", "**/.env.*", "**/*.key", "**/*.pem", "**/*.p12", "**/*.pfx", NULL,
};

const char *const cc_default_home_secrets[] = {
	".ssh",
	".aws",
	".gnupg",
	".config/gh",
	".kube",
	".docker",
	".netrc",
	".git-credentials",
	".pypirc",
	".cargo/credentials",
	".cargo/credentials.toml",
	".config/gcloud",
	"Library/Keychains",
	".m2/settings.xml",
	".gradle/gradle.properties",
	".local/share/ccbox-server",
	NULL,
};

const char *const cc_default_terminal_secrets[] = {
	".ssh", ".aws", ".gnupg", ".config/gh", "Library/Keychains", NULL,
};

const char *const cc_default_home_deny[] = {
	"Library/LaunchAgents",
	"Library/Preferences",
	".claude/settings.json",
	".claude/settings.local.json",
	".claude.json",
	".claude/hooks",
	".bashrc",
	".bash_profile",
	".bash_login",
	".bash_logout",
	".bash_aliases",
	".zshrc",
	".zshenv",
	".zprofile",
	".zlogin",
	".zlogout",
	".profile",
	".gitconfig",
	".config/git",
	".config/fish",
	".config/autostart",
	".config/systemd",
	".local/bin",
	".local/share/applications",
	".config/ccbox",
	".local/share/ccbox",
	".local/state/ccbox",
	NULL,
};

/* Providers, forges and, by whole domains, package registries. */
const char *const cc_default_allow_hosts[] = {
	"api.openai.com",
	"*.anthropic.com",
	"api.githubcopilot.com",
	"*.githubcopilot.com",
	"generativelanguage.googleapis.com",
	"api.mistral.ai",
	"api.cohere.ai",
	"api.together.xyz",
	"openrouter.ai",
	"api.morphllm.com",
	"*.z.ai",
	"*.bigmodel.cn",
	"bedrock.*.amazonaws.com",
	"bedrock-runtime.*.amazonaws.com",
	"opencode.ai",
	"api.opencode.ai",
	"ampcode.com",
	"*.ampcode.com",
	"*.factory.ai",
	"api.workos.com",
	"*.cursor.sh",
	"models.dev",
	"gitlab.com",
	/* GitHub */
	"github.com",
	"*.github.com",
	"api.github.com",
	"raw.githubusercontent.com",
	"objects.githubusercontent.com",
	"release-assets.githubusercontent.com",
	"codeload.github.com",
	"lfs.github.com",
	/* registries */
	"npmjs.org",
	"*.npmjs.org",
	"yarnpkg.com",
	"*.yarnpkg.com",
	"pypi.org",
	"*.pypi.org",
	"*.pythonhosted.org",
	"crates.io",
	"*.crates.io",
	"*.golang.org",
	"formulae.brew.sh",
	NULL,
};

const char *const cc_default_deny_hosts[] = {
	"169.254.169.254",
	"metadata.google.internal",
	"instance-data.ec2.internal",
	"statsig.anthropic.com",
	"*.sentry.io",
	NULL,
};

const char *const cc_default_packages[] = {
	"**/node_modules/**",
	"**/site-packages/**",
	"**/dist-packages/**",
	"**/vendor/**",
	"**/.cargo/registry/**",
	"**/.cargo/git/**",
	"**/go/pkg/mod/**",
	"**/.pnpm-store/**",
	"**/.yarn/cache/**",
	"**/.gem/**",
	"**/.bundle/**",
	"**/bower_components/**",
	"**/Pods/**",
	NULL,
};

enum cc_code cc_preset_parse(const char *name, enum cc_preset *out_preset, struct cc_err *err)
{
	static const struct {
		const char *name;
		enum cc_preset preset;
	} presets[] = {
		{"packages", CC_PRESET_PACKAGES}, {"tracked", CC_PRESET_TRACKED}, {"tooling", CC_PRESET_TOOLING}};

	for (size_t i = 0; i < CC_COUNT(presets); i++) {
		if (strcmp(presets[i].name, name) == 0) {
			*out_preset = presets[i].preset;
			return CC_OK;
		}
	}
	return cc_fail(err, CC_EINVAL, 0, "unknown preset \"%.60s\": packages, tracked or tooling", name);
}
