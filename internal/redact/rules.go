package redact

import "slices"

// Rule is a kind of secret.
type Rule struct {
	ID     string
	What   string   // what it masks, for people
	Shapes []string // of tokens that are recognized by their own characters, see tokens.go
}

// Rules is the source of the names of rules, of the tokens they mask, and of the table
// in docs/redact.md. If several rules match at the same place, the first one names it.
//
// Prefixes and lengths are those that the providers document or that public scanners
// of secrets know; a token may be longer than its shape says.
var Rules = []Rule{
	{ID: "private-key", What: "private keys in PEM or PGP armour, up to the end of the key or of the text, of PuTTY and in JSON Web Keys"},
	{ID: "age-key", What: "age identities", Shapes: []string{"AGE-SECRET-KEY-1<U20>", "AGE-PLUGIN-<U1-20>-1<U20>"}},
	{ID: "jwt", What: "JSON Web Tokens", Shapes: []string{"eyJ<t8>.eyJ<t8>.<t0>", "eyJ<t8>.eyJ<t8>", "ey<t15>.ey</15>.</0>", "ZXlK<b30>", "eyJ<t8>..<t8>.<t8>.<t8>", "eyJ<t8>.<t40>.<t8>.<t8>.<t8>"}},

	{ID: "anthropic-key", What: "Anthropic keys (sk-ant-…)", Shapes: []string{"sk-ant-<t12>"}},
	{ID: "openai-key", What: "OpenAI keys and keys of the same form (sk-…, sk-proj-…)", Shapes: []string{
		"sk-proj-<t20>", "sk-svcacct-<t20>", "sk-admin-<t20>", "sk-or-v1-<t20>", "sk-lf-<t20>", "sk-None-<t20>", "sk-litellm-<t16>", "sk-kimi-<t20>", "sk-<A20>", "sess-<A40>"}},
	{ID: "model-key", What: "keys of Groq, xAI, Perplexity, Replicate, Hugging Face, Fireworks, Cerebras, LangSmith, Langfuse, Tavily, Pinecone, Voyage, NVIDIA, Jina, " +
		"Together, Weights & Biases, Roboflow, E2B, Firecrawl, Exa, Modal, RunPod and Amazon Bedrock", Shapes: []string{
		"gsk_<A24>", "xai-<A24>", "xai-token-<A24>", "pplx-<A24>", "r8_<A24>", "hf_<A24>", "api_org_<A24>", "fw_<A20>", "fpk_<A20>", "csk-<A24>",
		"lsv2_pt_<w24>", "lsv2_sk_<w24>", "ls__<A24>", "pk-lf-<t20>", "tvly-<t20>", "pcsk_<w20>", "pckey_<w20>", "pa-<t40>", "nvapi-<t40>", "jina_<t24>",
		"tgp_v1_<t24>", "wandb_v1_<w30>", "rf_<A20>", "e2b_<A24>", "fc-<h32>", "exa_<A20>", "ak-<A20-24>", "as-<A20-24>", "rpa_<A32>", "ABSK<b60>", "bedrock-api-key-<b40>",
		"sk_car_<A20>", "llx-<A24>", "ms-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12-12>", "unkey_<A16>", "phc_<A32>", "vcp_<A24>", "vck_<A24>"}},
	{ID: "google-key", What: "Google API keys, OAuth secrets, refresh and access tokens", Shapes: []string{
		"AIza<t35>", "GOCSPX-<t20>", "ya29.<t20>", "1//0<t30>", "4/0A<t30>", "AQ.Ab8R<t30>", "GOOG1<A30>", "GOOG<U20>"}},
	{ID: "aws-key", What: "AWS access key ids (AKIA…, ASIA…)", Shapes: []string{"AKIA<U16>", "ASIA<U16>", "ABIA<U16>", "ACCA<U16>", "A3T<U17-17>"}},
	{ID: "azure-key", What: "Azure account and access keys, keys of Azure DevOps, Functions, Search and Container Registry", Shapes: []string{
		"<b76-84>+AStA<b2>==", "<b76-84>ASt<A5>==", "<A52-60>AzFu<b6>", "<A52-60>AzSe<A6>", "<A42-52>+ACR<A6>", "<A30-48>+ASb<b6>", "<A30-48>+AEh<b6>", "<A70-80>AZDO<A4>", "<A50-56>JQQJ99<A10>", "<A76-80>ACDb<b4>=="}},
	{ID: "github-token", What: "GitHub tokens (ghp_…, github_pat_…)", Shapes: []string{"ghp_<A30>", "gho_<A30>", "ghu_<A30>", "ghs_<A30>", "ghr_<A30>", "github_pat_<w22>"}},
	{ID: "gitlab-token", What: "GitLab tokens (glpat-…): personal, deploy, runner, trigger, job, feed, agent, incoming mail, feature flag, OAuth, SCIM", Shapes: []string{
		"glpat-<t20>.<a2-2>.<A9>", "glpat-<t20>.<a9>", "glpat-<t20>", "glptt-<t20>", "gldt-<t20>", "glrt-<t20>.<a2-2>.<A9>", "glrt-<t20>.<a9>", "glrt-<t20>", "glrtr-<t20>", "glcbt-<t20>", "glft-<t20>", "glimt-<t20>", "glagent-<t20>",
		"glffct-<t20>", "gloas-<t20>", "glsoat-<t20>", "glwt-<t20>", "GR1348941<t20>", "_gitlab_session=^<a32>"}},
	{ID: "slack-token", What: "Slack tokens and webhooks", Shapes: []string{
		"xoxa-<t8>", "xoxb-<t10>", "xoxc-<t10>", "xoxd-<b10>", "xoxe-<t10>", "xoxo-<t10>", "xoxp-<t10>", "xoxr-<t8>", "xoxs-<t10>", "xoxe.xoxb-<t10>", "xoxe.xoxp-<t10>",
		"xapp-<t20>", "xwfp-<t20>", "hooks.slack.com/services/^<b20>", "hooks.slack.com/workflows/^<b20>", "hooks.slack.com/triggers/^<b20>"}},
	{ID: "stripe-key", What: "Stripe keys and webhook secrets, and keys of Clerk, Paddle and others of the same form", Shapes: []string{
		"sk_live_<w10>", "sk_test_<w10>", "rk_live_<w10>", "rk_test_<w10>", "pk_live_<A16>", "pk_test_<A16>", "sk_prod_<w10>", "rk_prod_<w10>", "sk_org_<w16>", "whsec_<b20>",
		"pdl_live_<w20>", "pdl_sdbx_<w20>", "pdl_ntfset_<w20>", "rzp_live_<A14>", "rzp_test_<A14>", "ak_live_<A20>", "ak_test_<A20>", "sk_sbox_<a20>", "pk_sbox_<a20>", "sk_<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12-12>", "xnd_production_<A30>", "xnd_development_<A30>", "Mid-server-<t20>", "APP_USR-<d14-18>-<d6-6>-<h32-32>-<d6>", "TEST-<d14-18>-<d6-6>-<h32-32>-<d6>", "AQE<b80>", "access_token$production$^<a16-16>$<h32>", "access_token$sandbox$^<a16-16>$<h32>", "sk_<h40>", "sk_<A48>"}},
	{ID: "package-token", What: "tokens of npm, PyPI, RubyGems, crates.io, Clojars, NuGet, JFrog Artifactory and Cloudsmith", Shapes: []string{
		"npm_<A30>", "pypi-<t32>", "rubygems_<h32>", "cio<A32-32>", "CLOJARS_<A60>", "oy2<a43-43>", "AKCp<A60>", "cmVmd<A50>", "csa_<h30>", "pcu_<A16>", "jsr_<A20>"}},
	{ID: "service-token", What: "tokens of SendGrid, Telegram, DigitalOcean, Shopify, Linear, Notion, Vault, Terraform, Databricks, Tailscale, Doppler, Atlassian, Bitbucket, " +
		"Docker, Figma, Grafana, Sentry, Pulumi, Postman, New Relic, Netlify, Supabase, PlanetScale, Buildkite, Square, Mailgun, Discord, Entra, 1Password, Airtable, Asana, " +
		"Brevo, Brex, CircleCI, ClickHouse, ClickUp, Cloudflare, Contentful, Dropbox, Duffel, Dynatrace, EasyPost, Expo, Facebook, Flutterwave, Fly, Frame.io, Harness, Heroku, " +
		"HubSpot, Infracost, Intra 42, Lob, Mailchimp, Mapbox, MaxMind, MessageBird, Neon, Octopus Deploy, Okta, OpenShift, Alibaba, Tencent, Yandex, Plaid, PostHog, " +
		"Prefect, Razorpay, ReadMe, Render, Resend, Scalingo, Segment, Shippo, SonarQube, Sourcegraph, Temporal, Twilio, Twitter, Typeform, Upstash, Vercel, WakaTime, " +
		"webhooks of Discord, Teams, Google Chat, Zapier, IFTTT and others",
		Shapes: []string{
			"SG.<t16>.<t16>", "SG.<=60>", "<d5-16>:AA<t32>", "/bot<d5-12>:<t34>", "dop_v1_<h40>", "doo_v1_<h40>", "dor_v1_<H40>", "shpat_<H32>", "shpca_<H32>", "shppa_<H32>", "shpss_<H32>",
			"shptka_<H32>", "shpua_<H32>", "lin_api_<A32>", "lin_oauth_<A32>", "lin_wh_<A32>", "ntn_<A40>", "secret_<A43-43>", "hvs.<t20>", "hvb.<t20>", "hvr.<t20>", "<A14-14>.atlasv1.<=60>",
			"dapi<h32>", "dose<h32>", "dkea<h32>", "tskey-api-<t16>", "tskey-auth-<t16>", "tskey-client-<t16>", "tskey-scim-<t16>", "tskey-webhook-<t16>", "tskey-<t24>",
			"dp.pt.<.30>", "dp.st.<.30>", "dp.ct.<.30>", "dp.sa.<.30>", "dp.scim.<.30>", "dp.audit.<.30>", "ATATT3<=40>", "ATCTT3<=40>", "ATBB<A24>", "ATSTT3<=40>", "BBDC-<b30>",
			"dckr_pat_<t20>", "dckr_oat_<t20>", "figd_<t30>", "figu_<t30>", "figo_<t30>", "glsa_<w32>", "glc_<b32>", "eyJrIjoi<b40>", "sntrys_<b30>", "sntryu_<b30>", "sntrya_<b30>", "pul-<h40>",
			"PMAK-<H24-24>-<H34>", "PMAT-<A20>", "md-<t22-22>", "mfa.<t60>", "syt_<b6>_<A20-20>_<A6>", "mct_<A30>", "dG9rOm<A40>", "MTA<A21-25>.<t6-6>.<t27>", "MTE<A21-25>.<t6-6>.<t27>", "MTI<A21-25>.<t6-6>.<t27>", "MTM<A21-25>.<t6-6>.<t27>", "NRAK-<A27>", "NRII-<t24>", "NRJS-<h19>", "NRRA-<h40>", "NRAA-<A24>", "NRIQ-<t24>", "<h36-36>NRAL", "nfp_<A36>", "nfc_<A36>", "nfo_<A36>",
			"sbp_<h40>", "sbp_v0_<h40>", "sb_secret_<t20>", "sb_publishable_<t20>", "pscale_tkn_<=30>", "pscale_pw_<=30>", "pscale_oauth_<=30>", "pscale_otkn_<=30>", "bkua_<h40>", "bkaj_<A20>",
			"bkct_<A20>", "sq0atp-<t22>", "sq0csp-<t22>", "sq0idp-<t22>", "EAAA<t22>", "key-<h32>", "pubkey-<h32>", "<~3-3><d1-1>Q~<~31>", "ops_eyJ<b60>",
			"A3-<U6-6>-<U6-11>-<U5-6>-<U5-5>-<U5-5>", "A3-<U6-6>-<U6-6>-<U5-5>-<U5-5>-<U5-5>-<U5-5>", "pat<A14-14>.<h64>", "patv1.<t40>", "xkeysib-<h64>-<A16>", "xsmtpsib-<h64>-<A16>",
			"bxt_<A30>", "CCIPAT_<w20>", "CCIPRJ_<w20>", "4b1d<A38-38>", "pk_<d6-12>_<U32>", "v1.0-<h24-24>-<h140>", "cfut_<t30>", "cfat_<t30>", "cfk_<t30>", "CFPAT-<t40>",
			"sl.<t60>", "sl.u.<t60>", "duffel_test_<=40>", "duffel_live_<=40>", "dt0c01.<A24-24>.<A64>", "dt0s01.<A8-24>.<A64>", "dt0s02.<A8-24>.<A64>", "dt0s08.<A8-24>.<A64>", "dt0s16.<A8-24>.<A64>",
			"EZAK<A54>", "EZTK<A54>", "EAAC<A60>", "EAAM<A60>", "EAAB<A60>", "EAAG<A60>", "EAA<A100>", "EAAD<A60>", "EAAE<A60>", "EAAF<A60>", "EAAJ<A60>", "EAAL<A60>", "IGQV<t60>",
			"FLWSECK_TEST-<A12>", "FLWSECK-<A12>", "FLWPUBK_TEST-<A32>", "fo1_<t40>", "fm1a_<b60>", "fm1r_<b60>", "fm2_<b60>", "FlyV1 fm2_<b60>", "fio-u-<=40>",
			"pat.<t22-22>.<A24-24>.<A20>", "sat.<t22-22>.<A24-24>.<A20>", "HRKU-<t36>", "pat-na1-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "pat-na2-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>",
			"pat-eu1-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "pat-ap1-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "CJ<A30-60>", "ico-<A32>", "s.<A24-24>", "s-s4t2ud-<H64>", "s-s4t2af-<H64>", "live_<A30-30>", "test_<A30-30>", "live_<h35-35>", "test_<h35-35>", "live_pub_<h31-31>",
			"test_pub_<h31-31>", "<h32-32>-us<d1-2>", "sk.eyJ<t20>.<t20>", "pk.eyJ<t20>.<t20>", "tk.eyJ<t20>.<t20>", "<A6-6>_<A29-29>_mmk", "napi_<A40>", "npg_<A12>",
			"API-<U25-36>", "SSWS 00<t40>", "sha256~<t43>", "LTAI<A16-26>", "AKID<A32-36>", "t1.<t40>.<t80>", "AQVN<t35>", "YC<t38-38>", "y0_<t50>", "access-sandbox-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>",
			"access-development-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "access-production-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "phx_<A32>", "phs_<A32>", "pha_<A32>", "phr_<A32>", "pnu_<A36>", "pnb_<A36>",
			"rdme_<a70>", "rnd_<A28>", "re_<A8-8>_<A20>", "re_<A30>", "tk-us-<t48>", "sgp_<H40>", "sgp_<H16-16>_<H40>", "sgp_local_<H40>", "slk_<h40>", "shippo_live_<H40>", "shippo_test_<H40>",
			"squ_<a40>", "sqp_<a40>", "sqa_<a40>", "sqb_<a40>", "SK<H32-32>", "AC<h32-32>:^<h32>", "AAAAAAAAAAAAAAAAAAAAA<t60>", "tfp_<=40>", "waka_<t30>", "waka_tok_<t30>", "vcp_<A50>", "vercel_blob_rw_<w20>",
			"fnAE<t30>", "rlwy_<A20>", "bb_live_<t20>", "bb_test_<t20>", "cal_live_<h32>", "cal_<h32>", "tr_dev_<A16>", "tr_prod_<A16>", "dnkey-<=26-26>-<=52>", "b_<t44-44>",
			"sm_aat_<A16>", "sm_pat_<A16>", "sm_sat_<A16>", "sc_<A5-30>.<A4-6>.acc<t10>.<b30>", "ext_<A5-30>.<A4-6>.acc<t10>.<b30>", "scauth_<A5-30>.<A4-6>.acc<t10>.<b30>", "authress_<A5-30>.<A4-6>.acc<t10>.<b30>", "p8e-<t32>", "sdk-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "mob-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "api-<h8-8>-<h4-4>-<h4-4>-<h4-4>-<h12>", "wandb login ^<h40>", "::server:^<A16>", "::node:^<A16>", "apify_api_<A30>", "ops_<b60>", "ol_api_<A30>", "oy2<a43>",
			"mlsn.<h40>", "snyk_uat.<t8-8>.<b20>", "snyk_sat.<t8-8>.<b20>", "ddp_<A36>", "ddapp_<A34>", "ddpat_<A30>", "deno_<A30>", "ddo_<A36>", "sec-c-<A40>",
			"discord.com/api/webhooks/<d10>/^<t30>", "discordapp.com/api/webhooks/<d10>/^<t30>", "webhook.office.com/webhookb2/^<t8>@<t8>/IncomingWebhook/<t16>/<t16>/<t8>", "webhook.office.com/webhookb2/^<t8>@<t8>/IncomingWebhook/<t16>/<t16>",
			"outlook.office.com/webhook/^<t8>@<t8>/IncomingWebhook/<t16>/<t16>", "hooks.zapier.com/hooks/catch/^</12>", "maker.ifttt.com/use/^<t16>", "/with/key/^<t16>", "hc-ping.com/^<t30>",
			"hook.eu1.make.com/^<A20>", "hook.us1.make.com/^<A20>", "hook.integromat.com/^<A20>", "open.feishu.cn/open-apis/bot/v2/hook/^<t20>", "events.pagerduty.com/integration/^<h32>",
			"api.opsgenie.com/v1/json/^<t30>", "http-intake.logs.datadoghq.com/v1/input/^<h32>", "mattermost.com/hooks/^<a26-26>", "/hooks/^<a26-26>", "rocket.chat/hooks/^<A17>/<A30>"}},

	{ID: "url-password", What: "the password in a URL or connection string (postgres://user:…@host, jdbc:oracle:thin:user/…@host, user:…@tcp(host))"},
	{ID: "url-parameter", What: "tokens and signatures in the parameters of a URL, or in place of the user name"},
	{ID: "authorization", What: "credentials after Authorization: and Bearer, of any scheme"},
	{ID: "cookie", What: "the values of Cookie: and Set-Cookie: headers, and of files of cookies"},
	{ID: "login", What: "passwords that programs take as arguments (curl -u, sshpass -p, mysql -p, docker login -p and others) or from echo, and those in .netrc, .pgpass and calls as login(…)"},
	{ID: "password-hash", What: "password hashes as in /etc/shadow and htpasswd ($2y$…, $6$…, $argon2id$…)", Shapes: []string{
		"$2a$<$20>", "$2b$<$20>", "$2x$<$20>", "$2y$<$20>", "$1$<$20>", "$5$<$20>", "$6$<$20>", "$7$<$20>", "$y$<$20>", "$gy$<$20>", "$apr1$<$20>", "$P$<$20>", "$argon2id$<$20>", "$argon2i$<$20>", "$argon2d$<$20>",
		"$pbkdf2-sha256$<$20>", "$pbkdf2-sha512$<$20>", "$scrypt$<$20>", "pbkdf2_sha256$<$20>", "pbkdf2:sha256:<d4-8>$<$20>", "scrypt:32768:8:1$<$20>", "SCRAM-SHA-256$<d4-6>:<b10>$<b20>:<b20>", "{SSHA}<b20>", "{SHA}<b20>"}},
	{ID: "password", What: "values of names and flags that end in password, passwd, pwd, passphrase or pass; not sentences or paths"},
	{ID: "told-password", What: "passwords in a sentence (the password is …) that contain a digit or a symbol"},
	{ID: "variable", What: "values of upper-case variables whose names end in SECRET, TOKEN, API_KEY, ACCESS_KEY, SECRET_KEY or PRIVATE_KEY"},
	{ID: "secret", What: "long values with letters and digits, of names that end in secret, token, api key, access key or credential, or that name a service"},
}

// rank returns the place of a rule in Rules.
func rank(id string) int { return slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id }) }
