#include "policy/agents.h"

#include "base/mem.h"

#include <string.h>

#define IN   CC_AGENT_SEED
#define BOTH (CC_AGENT_SEED | CC_AGENT_BACK)
#define TREE (CC_AGENT_SEED | CC_AGENT_TREE)

static const struct cc_agent agents[] = {
	{
		.name = "claude",
		.programs = {"claude", "claude-code"},
		.dirs = {{".claude", "CLAUDE_CONFIG_DIR", false}},
		.files =
			{
				{".claude/.credentials.json", ".claude/.credentials.json", BOTH},
				/* Which account is logged in, which directories are trusted; with the variable set it
				 * is looked for inside the directory. */
				{".claude.json", ".claude/.claude.json", IN},
				{".claude/settings.json", ".claude/settings.json", IN},
				{".claude/CLAUDE.md", ".claude/CLAUDE.md", IN},
				{".claude/keybindings.json", ".claude/keybindings.json", IN},
				{".claude/commands", ".claude/commands", TREE},
				{".claude/agents", ".claude/agents", TREE},
				{".claude/skills", ".claude/skills", TREE},
				{".claude/output-styles", ".claude/output-styles", TREE},
				{".claude/rules", ".claude/rules", TREE},
				{".claude/projects", ".claude/projects", CC_AGENT_NEW},
			},
		.keys = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
			 "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_DEFAULT_OPUS_MODEL",
			 "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "CLAUDE_CODE_OAUTH_TOKEN",
			 "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION",
			 "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
			 "MAX_THINKING_TOKENS", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"},
		.hosts = {"*.anthropic.com", "claude.ai", "*.claude.ai", "*.claude.com"},
		/* IS_SANDBOX: as root it refuses to work without questions unless told that it is enclosed. */
		.set_env = {"DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1"},
		.args = {"--settings", "{\"sandbox\":{\"enabled\":false}}"},
		.names = {"sessions/*.key"},
	},
	{
		.name = "codex",
		.programs = {"codex"},
		.dirs = {{".codex", "CODEX_HOME", false}},
		.files =
			{
				{".codex/auth.json", ".codex/auth.json", BOTH},
				{".codex/config.toml", ".codex/config.toml", IN},
				{".codex/AGENTS.md", ".codex/AGENTS.md", IN},
				{".codex/prompts", ".codex/prompts", TREE},
				{".codex/skills", ".codex/skills", TREE},
				{".codex/rules", ".codex/rules", TREE},
				{".codex/version.json", ".codex/version.json", IN},
				{".codex/sessions", ".codex/sessions", CC_AGENT_NEW},
			},
		.keys = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
			 "AZURE_OPENAI_API_KEY"},
		.hosts = {"api.openai.com", "auth.openai.com", "chatgpt.com", "*.chatgpt.com"},
		.args = {"-c", "sandbox_mode=\"danger-full-access\""},
	},
	{
		.name = "gemini",
		.programs = {"gemini"},
		.dirs = {{".gemini", "GEMINI_CLI_HOME", true}},
		.files =
			{
				{".gemini/oauth_creds.json", ".gemini/oauth_creds.json", BOTH},
				{".gemini/google_accounts.json", ".gemini/google_accounts.json", BOTH},
				{".gemini/settings.json", ".gemini/settings.json", IN},
				{".gemini/installation_id", ".gemini/installation_id", IN},
				{".gemini/trustedFolders.json", ".gemini/trustedFolders.json", IN},
				{".gemini/state.json", ".gemini/state.json", IN},
				{".gemini/GEMINI.md", ".gemini/GEMINI.md", IN},
				{".gemini/commands", ".gemini/commands", TREE},
			},
		.keys = {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_MODEL", "GOOGLE_GEMINI_BASE_URL",
			 "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_USE_VERTEXAI",
			 "GOOGLE_GENAI_USE_GCA"},
		.hosts = {"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com",
			  "www.googleapis.com", "accounts.google.com", "aiplatform.googleapis.com"},
		.set_env = {"GEMINI_SANDBOX=false"},
		/* Its tools look for a .env of their own in the state directory. */
		.names = {".env"},
	},
	{
		.name = "opencode",
		.programs = {"opencode"},
		.dirs = {{".local/share/opencode", "XDG_DATA_HOME", true},
			 {".config/opencode", "XDG_CONFIG_HOME", true},
			 {".local/state/opencode", "XDG_STATE_HOME", true}},
		.files =
			{
				{".local/share/opencode/auth.json", ".local/share/opencode/auth.json", BOTH},
				{".config/opencode/opencode.json", ".config/opencode/opencode.json", IN},
				{".config/opencode/opencode.jsonc", ".config/opencode/opencode.jsonc", IN},
				{".config/opencode/AGENTS.md", ".config/opencode/AGENTS.md", IN},
				{".local/share/opencode/storage", ".local/share/opencode/storage", CC_AGENT_NEW},
			},
		.keys = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY",
			 "GOOGLE_GENERATIVE_AI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY",
			 "XAI_API_KEY", "OPENCODE_API_KEY", "OPENCODE_DISABLE_MODELS_FETCH"},
		.hosts = {"opencode.ai", "*.opencode.ai", "models.dev", "*.anthropic.com", "api.openai.com",
			  "openrouter.ai", "generativelanguage.googleapis.com"},
		.set_env = {"OPENCODE_DISABLE_AUTOUPDATE=1"},
	},
	{
		.name = "goose",
		.programs = {"goose"},
		.dirs = {{".config/goose", "XDG_CONFIG_HOME", true},
			 {".local/share/goose", "XDG_DATA_HOME", true},
			 {".local/state/goose", "XDG_STATE_HOME", true}},
		.files =
			{
				{".config/goose/secrets.yaml", ".config/goose/secrets.yaml", BOTH},
				{".config/goose/config.yaml", ".config/goose/config.yaml", IN},
				{".config/goose/.goosehints", ".config/goose/.goosehints", IN},
				{".local/share/goose/sessions", ".local/share/goose/sessions", CC_AGENT_NEW},
			},
		.keys = {"GOOSE_PROVIDER", "GOOSE_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY",
			 "GOOGLE_API_KEY", "GROQ_API_KEY", "DATABRICKS_HOST", "DATABRICKS_TOKEN"},
		.hosts = {"*.anthropic.com", "api.openai.com", "openrouter.ai", "generativelanguage.googleapis.com"},
		/* The keyring's daemon is out of reach inside. */
		.set_env = {"GOOSE_DISABLE_KEYRING=1", "GOOSE_MODE=auto"},
	},
	{
		.name = "cursor-agent",
		.programs = {"cursor-agent", "cursor"},
		.dirs = {{".cursor", NULL, false}, {".config/cursor", "XDG_CONFIG_HOME", true}},
		.files =
			{
				{".config/cursor/auth.json", ".config/cursor/auth.json", BOTH},
				{".cursor/cli-config.json", ".cursor/cli-config.json", IN},
				{".cursor/rules", ".cursor/rules", TREE},
				{".cursor/chats", ".cursor/chats", CC_AGENT_NEW},
			},
		.keys = {"CURSOR_API_KEY"},
		.hosts = {"cursor.com", "*.cursor.com", "*.cursor.sh"},
		.args = {"--sandbox", "disabled"},
	},
};

const struct cc_agent *cc_agent_at(size_t index)
{
	return index < CC_COUNT(agents) ? &agents[index] : NULL;
}

const struct cc_agent *cc_agent_by_name(const char *name)
{
	for (size_t i = 0; name && i < CC_COUNT(agents); i++)
		if (strcmp(agents[i].name, name) == 0)
			return &agents[i];
	return NULL;
}

const struct cc_agent *cc_agent_by_program(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
	const char *base = slash ? slash + 1 : argv0;

	for (size_t i = 0; base && i < CC_COUNT(agents); i++)
		for (size_t p = 0; p < CC_COUNT(agents[i].programs) && agents[i].programs[p]; p++)
			if (strcmp(agents[i].programs[p], base) == 0)
				return &agents[i];
	return NULL;
}
