"""Kinds of secrets that are planted to measure how many are found. None is written here: each is drawn at run time.

A row is a kind and how its secrets look: `{hex:32}` stands for 32 letters of an alphabet. The list is meant
to be as wide as the rules of gitleaks and detect-secrets, without client ids, which are no secrets. It is not
made from the rules under test: a rule that is missing shows.
"""

from __future__ import annotations

ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "lower": "abcdefghijklmnopqrstuvwxyz0123456789",
    "alnum": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "url": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
    "b64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "digits": "0123456789",
}

BY_FORM = """
1password-service    ops_eyJ{b64:250}
1password-secret     A3-{upper:6}-{upper:11}-{upper:5}-{upper:5}-{upper:5}
age                  AGE-SECRET-KEY-1{upper:58}
airtable             pat{alnum:14}.{hex:64}
alibaba-id           LTAI{alnum:20}
anthropic            sk-ant-api03-{url:93}AA
anthropic-admin      sk-ant-admin01-{url:93}AA
anthropic-oauth      sk-ant-oat01-{url:80}
artifactory-key      AKCp{alnum:69}
artifactory-ref      cmVmd{alnum:59}
artifactory-password APB{alnum:30}
adobe-bare           p8e-{lower:32}
atlassian            ATATT3{url:186}
atlassian-bitbucket  ATBB{alnum:32}
authress             sc_{lower:5}.{lower:4}.acc_{lower:10}.{alnum:40}
aws-id               AKIA{upper:16}
aws-session-id       ASIA{upper:16}
aws-old-id           A3T{upper:17}
aws-bedrock          ABSK{b64:120}
azure-ad             {alnum:3}8Q~{alnum:34}
azure-storage-line   DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={b64:86}==;EndpointSuffix=x.net
azure-sas            https://shop.blob.core.windows.net/a?sv=2024&sig={alnum:43}%3D
azure-devops         {alnum:76}AZDO{alnum:4}
azure-search         {alnum:42}AzSe{alnum:6}
azure-cosmos         AccountEndpoint=https://x.documents.azure.com;AccountKey={b64:86}==;
brevo                xkeysib-{hex:64}-{alnum:16}
buildkite            bkua_{hex:40}
circleci             CCIPAT_{alnum:22}_{hex:40}
clickhouse           4b1d{alnum:38}
clojars              CLOJARS_{lower:60}
cloudflare-origin    v1.0-{hex:24}-{hex:146}
doppler              dp.pt.{alnum:43}
contentful           CFPAT-{url:43}
databricks           dapi{hex:32}
databricks-numbered  dapi{hex:32}-3
defined-networking   dnkey-{lower:26}-{lower:52}
digitalocean         dop_v1_{hex:64}
digitalocean-oauth   doo_v1_{hex:64}
digitalocean-refresh dor_v1_{hex:64}
discord-bot          MTk4NjIyNDgzNDcxOTI1MjQ4.{url:6}.{url:38}
discord-webhook      https://discord.com/api/webhooks/{digits:18}/{url:68}
docker-pat           dckr_pat_{url:27}
dropbox-short        sl.{url:140}
duffel               duffel_live_{url:43}
dynatrace            dt0c01.{upper:24}.{upper:64}
easypost             EZAK{alnum:54}
easypost-test        EZTK{alnum:54}
endorlabs            endr+{alnum:16}
facebook-page        EAAC{alnum:150}
facebook-app         {digits:16}|{alnum:27}
figma                figd_{url:40}
fireworks            fw_{alnum:24}
flutterwave          FLWSECK_TEST-{hex:32}-X
flutterwave-crypt    FLWSECK_TEST-{hex:12}
gitlab-session       _gitlab_session={hex:32}
softlayer-url        https://api.softlayer.com/soap/v3.1/{hex:64}
fly                  fm2_{b64:120}
frameio              fio-u-{url:64}
freemius             sk_{alnum:29}
gcp                  AIza{url:35}
gcp-oauth            GOCSPX-{url:28}
gcp-access           ya29.{url:120}
gcp-refresh          1//0{url:60}
github-pat           ghp_{alnum:36}
github-fine          github_pat_{alnum:22}_{alnum:59}
github-oauth         gho_{alnum:36}
github-app           ghu_{alnum:36}
github-server        ghs_{alnum:36}
github-refresh       ghr_{alnum:76}
gitlab-pat           glpat-{url:20}
gitlab-routable      glpat-{url:27}.01.{lower:9}
gitlab-deploy        gldt-{url:20}
gitlab-runner        glrt-{url:20}
gitlab-runner-reg    GR1348941{url:20}
gitlab-oauth-app     gloas-{url:64}
gitlab-trigger       glptt-{hex:40}
gitlab-feed          glft-{url:20}
gitlab-incoming      glimt-{url:25}
gitlab-agent         glagent-{url:50}
gitlab-scim          glsoat-{url:20}
gitlab-flags         glffct-{url:20}
gitlab-ci-job        glcbt-{lower:2}_{url:20}
gocardless           live_{url:40}
grafana-service      glsa_{alnum:32}_{hex:8}
grafana-cloud        glc_{b64:60}
grafana-legacy       eyJrIjoi{alnum:80}
groq                 gsk_{alnum:52}
harness              pat.{alnum:22}.{hex:24}.{alnum:20}
heroku-v2            HRKU-AA{url:58}
hubspot              pat-na1-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
huggingface          hf_{alnum:34}
huggingface-org      api_org_{alnum:34}
infracost            ico-{alnum:32}
intra42              s-s4t2ud-{hex:64}
jwt                  eyJhbGciOiJIUzI1NiJ9.eyJz{url:40}.{url:43}
langfuse             sk-lf-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
langsmith            lsv2_pt_{hex:32}_{hex:10}
linear               lin_api_{alnum:40}
lob                  live_{hex:35}
mailchimp            {hex:32}-us12
mailgun              key-{hex:32}
mailgun-signing      {hex:32}-{hex:8}-{hex:8}
mapbox-secret        sk.eyJ{url:80}.{url:22}
maxmind              {alnum:6}_{alnum:29}_mmk
microsoft-teams      https://shop.webhook.office.com/webhookb2/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}/IncomingWebhook/{hex:32}/{hex:8}
netlify              nfp_{alnum:36}
new-relic-user       NRAK-{upper:27}
new-relic-browser    NRJS-{hex:19}
new-relic-insert     NRII-{url:32}
notion               ntn_{alnum:46}
notion-old           secret_{alnum:43}
npm                  npm_{alnum:36}
npmrc                //registry.example.org/:_authToken={hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
nuget                oy2{lower:43}
nvidia               nvapi-{url:64}
octopus              API-{upper:26}
okta-header          Authorization: SSWS 00{url:40}
openai               sk-{alnum:20}T3BlbkFJ{alnum:20}
openai-project       sk-proj-{url:74}T3BlbkFJ{url:74}
openai-service       sk-svcacct-{url:58}T3BlbkFJ{url:58}
openrouter           sk-or-v1-{hex:64}
openshift            sha256~{url:43}
perplexity           pplx-{alnum:48}
pinecone             pcsk_{alnum:6}_{alnum:60}
plaid                access-production-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
planetscale          pscale_pw_{url:43}
planetscale-token    pscale_tkn_{url:43}
postman              PMAK-{hex:24}-{hex:34}
prefect              pnu_{lower:36}
private-key          -----BEGIN PRIVATE KEY-----{nl}{b64:64}{nl}{b64:64}{nl}-----END PRIVATE KEY-----
private-key-rsa      -----BEGIN RSA PRIVATE KEY-----{nl}{b64:64}{nl}{b64:40}{nl}-----END RSA PRIVATE KEY-----
private-key-ssh      -----BEGIN OPENSSH PRIVATE KEY-----{nl}{b64:70}{nl}-----END OPENSSH PRIVATE KEY-----
private-key-pgp      -----BEGIN PGP PRIVATE KEY BLOCK-----{nl}{b64:64}{nl}-----END PGP PRIVATE KEY BLOCK-----
private-key-putty    PuTTY-User-Key-File-2: ssh-rsa{nl}Encryption: none{nl}Private-Lines: 2{nl}{b64:64}{nl}{b64:64}
pulumi               pul-{hex:40}
pypi                 pypi-AgEIcHlwaS5vcmc{url:80}
razorpay             rzp_live_{alnum:14}
readme               rdme_{lower:70}
replicate            r8_{alnum:37}
rubygems             rubygems_{hex:48}
scalingo             tk-us-{url:48}
sendgrid             SG.{url:22}.{url:43}
sentry-org           sntrys_eyJ{b64:80}_{b64:43}
sentry-user          sntryu_{hex:64}
sentry-dsn           https://{hex:32}:{hex:32}@o1.ingest.sentry.io/12
settlemint           sm_pat_{alnum:16}
shippo               shippo_live_{hex:40}
shopify              shpat_{hex:32}
shopify-shared       shpss_{hex:32}
sidekiq-url          https://{hex:8}:{hex:8}@gems.contribsys.com/
slack-bot            xoxb-{digits:12}-{digits:12}-{alnum:24}
slack-user           xoxp-{digits:12}-{digits:12}-{digits:12}-{hex:32}
slack-app            xapp-1-{upper:10}-{digits:12}-{hex:64}
slack-config         xoxe.xoxp-1-{alnum:160}
slack-webhook        https://hooks.slack.com/services/T{upper:8}/B{upper:8}/{alnum:24}
sonar                squ_{hex:40}
sourcegraph          sgp_{hex:16}_{hex:40}
square               EAAA{url:60}
square-secret        sq0csp-{url:43}
stripe               sk_live_{alnum:24}
stripe-restricted    rk_live_{alnum:24}
stripe-webhook       whsec_{b64:32}
supabase             sbp_{hex:40}
supabase-secret      sb_secret_{url:31}
tailscale            tskey-auth-{alnum:12}-{alnum:32}
tavily               tvly-dev-{alnum:32}
telegram             {digits:9}:AA{url:33}
terraform            {alnum:14}.atlasv1.{url:67}
together             tgp_v1_{url:43}
twilio               SK{hex:32}
twitter-bearer       AAAAAAAAAAAAAAAAAAAAA{alnum:90}
typeform             tfp_{url:44}_{alnum:14}
url-postgres         postgres://app:{alnum:12}@db.example.org/shop
url-mongo            mongodb+srv://app:{alnum:12}@cluster.example.org
url-redis            redis://:{alnum:16}@cache.example.org:6379/0
url-amqp             amqps://app:{alnum:14}@mq.example.org/v
url-git              https://oauth2:{alnum:24}@git.example.org/a.git
url-user-only        https://{hex:40}@git.example.org/a.git
vault-service        hvs.{url:90}
vault-batch          hvb.{url:140}
vault-old            s.{alnum:24}
vercel               vcp_{alnum:56}
volcengine           AKLT{alnum:43}
weights-and-biases   wandb_v1_{alnum:60}
xai                  xai-{alnum:80}
yandex               AQVN{url:37}
yandex-iam           t1.{url:60}.{url:86}
yandex-static        YC{url:38}
zapier               https://hooks.zapier.com/hooks/catch/{digits:7}/{lower:7}/
curl-user            curl -u shop:{alnum:12} https://example.org
curl-header          curl -H 'Authorization: Bearer {alnum:32}' https://example.org
basic-header         Authorization: Basic {login}
bearer-header        Authorization: Bearer {alnum:40}
token-header         Authorization: token {hex:40}
digest-cookie        Cookie: theme=dark; session={alnum:40}
set-cookie           Set-Cookie: sid={alnum:40}; HttpOnly
netrc                machine example.org login shop password {alnum:12}
mysql-flag           mysql -u root -p{alnum:12} shop
sshpass              sshpass -p {alnum:12} ssh host
redis-flag           redis-cli -h cache -a {alnum:20}
docker-login         docker login -u shop -p {alnum:20} registry.example.org
sql-identified       CREATE USER shop IDENTIFIED BY '{alnum:12}';
sql-password         ALTER ROLE shop WITH PASSWORD '{alnum:12}';
powershell           ConvertTo-SecureString '{alnum:14}' -AsPlainText
xml-password         <password>{alnum:12}</password>
nuget-config         <add key="ClearTextPassword" value="{alnum:14}" />
k8s-yaml             kind: Secret{nl}data:{nl}  db: {b64:28}
java-property        spring.datasource.password={alnum:12}
htpasswd             shop:$apr1${alnum:8}${alnum:22}
unix-shadow          shop:$6${alnum:16}${alnum:86}:19000:0:99999:7:::
bcrypt               $2b$12${alnum:53}
"""

BY_NAME = """
adafruit             ADAFRUIT_IO_KEY {lower:32}
adobe                adobe_client_secret p8e-{lower:32}
algolia              ALGOLIA_API_KEY {lower:32}
alibaba              alibaba_secret_key {alnum:30}
asana                ASANA_CLIENT_SECRET {lower:32}
assemblyai           ASSEMBLYAI_API_KEY {hex:32}
auth0                AUTH0_CLIENT_SECRET {url:64}
aws-secret           AWS_SECRET_ACCESS_KEY {b64:40}
aws-session          AWS_SESSION_TOKEN {b64:300}
azure-openai         AZURE_OPENAI_API_KEY {hex:32}
beamer               beamer_token b_{alnum:44}
bitbucket            bitbucket_client_secret {url:64}
bittrex              bittrex_secret_key {lower:32}
cloudant             CLOUDANT_PASSWORD {hex:64}
cloudflare-global    CLOUDFLARE_GLOBAL_API_KEY {hex:37}
cloudflare-token     CLOUDFLARE_API_TOKEN {url:40}
codecov              CODECOV_TOKEN {lower:32}
cohere               CO_API_KEY {alnum:40}
coinbase             coinbase_access_token {url:64}
confluent            confluent_secret_key {alnum:64}
datadog-api          DD_API_KEY {hex:32}
datadog-app          DATADOG_APP_KEY {hex:40}
deepgram             DEEPGRAM_API_KEY {hex:40}
deepseek             DEEPSEEK_API_KEY sk-{hex:32}
drone                DRONECI_TOKEN {lower:32}
dropbox              dropbox_api_secret {lower:15}
elastic              ELASTIC_PASSWORD {alnum:24}
elevenlabs           ELEVENLABS_API_KEY {hex:32}
etsy                 etsy_api_key {lower:24}
facebook             facebook_app_secret {hex:32}
fastly               FASTLY_API_TOKEN {url:32}
finicity             finicity_client_secret {alnum:20}
finnhub              finnhub_token {lower:20}
flickr               flickr_access_token {lower:32}
freshbooks           freshbooks_token {lower:64}
gitter               gitter_access_token {url:40}
heroku               HEROKU_API_KEY {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
ibm-cloud            IBMCLOUD_API_KEY {url:44}
ibm-cos              cos_hmac_secret_access_key {hex:48}
intercom             intercom_access_token {lower:60}
jfrog                JFROG_API_KEY {lower:73}
kraken               kraken_secret {b64:80}
kucoin               KUCOIN_SECRET_KEY {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
launchdarkly         LAUNCHDARKLY_ACCESS_TOKEN {url:40}
linkedin             linkedin_client_secret {alnum:16}
looker               looker_client_secret {lower:24}
mattermost           mattermost_token {lower:26}
messagebird          messagebird_api_token {lower:25}
mistral              MISTRAL_API_KEY {alnum:32}
nytimes              nytimes_access_token {url:32}
okta                 OKTA_API_TOKEN 00{url:40}
password             DB_PASSWORD {alnum:10}
password-short       smtp_pass {alnum:8}
passphrase           key_passphrase {alnum:18}
privateai            PRIVATEAI_API_KEY {lower:32}
rapidapi             rapidapi_access_token {alnum:50}
secret-key-base      secret_key_base {hex:128}
django               DJANGO_SECRET_KEY {alnum:50}
jwt-secret           JWT_SECRET {alnum:32}
encryption-key       ENCRYPTION_KEY {b64:43}=
sendbird             sendbird_access_token {hex:40}
sidekiq              BUNDLE_ENTERPRISE__CONTRIBSYS__COM__SECRET {hex:8}:{hex:8}
snyk                 SNYK_TOKEN {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
softlayer            SOFTLAYER_API_KEY {hex:64}
splunk               splunk_hec_token {HEX:8}-{HEX:4}-{HEX:4}-{HEX:4}-{HEX:12}
squarespace          squarespace_access_token {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
sumologic            sumo_access_key {alnum:64}
travis               TRAVIS_ACCESS_TOKEN {alnum:22}
trello               trello_api_key {hex:32}
twilio-auth          TWILIO_AUTH_TOKEN {hex:32}
twitch               twitch_api_token {lower:30}
twitter              twitter_access_secret {lower:45}
wandb                WANDB_API_KEY {hex:40}
webhook              GITHUB_WEBHOOK_SECRET {alnum:20}
x-api-key            x-api-key {alnum:36}
x-auth-token         X-Auth-Token {hex:32}
zendesk              zendesk_secret_key {lower:40}
csrf                 csrf_token {alnum:32}
oauth-refresh        refresh_token {url:64}
oauth-access         access_token {url:64}
id-token             id_token {url:64}
client-secret        clientSecret {alnum:32}
signing-key          signingKey {b64:44}
account-key          AccountKey {b64:86}==
subscription-key     Ocp-Apim-Subscription-Key {hex:32}
api-key              apiKey {alnum:24}
api-key-plain        api_key {lower:20}
credentials          credentials {alnum:30}
"""


def rows(table: str) -> list[tuple[str, str]]:
    """Kind and form of every row."""
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in table.strip().splitlines()]
