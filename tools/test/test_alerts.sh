#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The samples for Prometheus and Grafana: each name of a metric and of a label is one that
# smcctl prometheus writes, and promtool judges rules and queries.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
rules=samples/prometheus-rules.yml
dashboard=samples/grafana-dashboard.json
page=../Documentation/monitoring.rst

# promtool of the machine, or the one that scripts/fetch-promtool.sh has brought
promtool=$(../scripts/cache-dir.sh)/promtool/promtool
if command -v promtool >/dev/null; then
	promtool=promtool
fi

# what the module can count, and all limits
sed -n 's/^\t\[SMC_STAT_[A-Z_]*\].*"\([a-z_]*\)".*/\1 1/p' ../base/stats.c >"$FAKE_PROC/smc_stat"
echo 1 >"$FAKE_PROC/net/smc/smcr_max_mem_kb"
echo 1 >"$FAKE_PROC/net/smc/smcr_max_rmb_kb"
echo 1 >"$FAKE_PROC/net/smc/smcr_max_snd_kb"
export FAKE_NETNS="$tmp/netns"
mkdir "$FAKE_NETNS"
echo normal >"$FAKE_NETNS/self"
cp "$FAKE_NETNS/self" "$FAKE_NETNS/1"
ctl normal -n all prometheus >"$tmp/prom"

# queries: print what the dashboard asks for, one query per line
queries()
{
	sed -n 's/^ *"expr": "\(.*\)",*$/\1/p' "$dashboard" | sed 's/\\"/"/g'
}
{
	grep -v '^#' "$rules"
	queries
} >"$tmp/used"

metrics_unknown()
{
	{ cat "$tmp/used"; grep -o 'label_values([^)]*)' "$dashboard"; } |
		grep -o 'smc_[a-z_]*' | sort -u | while read -r name; do
		grep -q "^${name}[{ ]" "$tmp/prom" || echo "$name"
	done
}

# Labels in by (...), in {...} of a metric, and in the texts. The server adds instance; $labels and
# $value are the templates' own, severity is a label of the alerts.
labels_unknown()
{
	{
		tr '\n' ' ' <"$tmp/used" | grep -o '\(by\|on\|group_left\) ([a-z, ]*)' |
			sed 's/^[a-z_]* (//' | tr -cs 'a-z_' '\n'
		grep -o 'smc_[a-z_]*{[^}]*}' "$tmp/used" | grep -o '[a-z_]*\(=~\|!~\|!=\|=\)' | tr -d '=~!'
		grep -o 'labels\.[a-z_]*' "$rules" | sed 's/^labels.//'
		grep -o '{{[a-z_]*}}' "$dashboard" | tr -d '{}'
	} | grep . | sort -u | grep -vx instance | while read -r name; do
		grep -q "[{,]$name=\"" "$tmp/prom" || echo "$name"
	done
}

# An alert, its summary and the section of the page go by one name.
unexplained()
{
	sed -n 's/^ *- alert: //p' "$rules" | while read -r name; do
		grep -q "(monitoring.rst, $name)" "$rules" || echo "$name: no section in its summary"
		grep -A1 -x "$name" "$page" | grep -q '^---*$' || echo "$name: no section"
	done
	grep -o '"description": "Smc[A-Za-z]*"' "$dashboard" | sed 's/.*"\(Smc.*\)"/\1/' |
		while read -r name; do
		grep -q "alert: $name\$" "$rules" || echo "$name: no such alert"
	done
}

# metrics_undescribed: print the metrics that the page does not name
metrics_undescribed()
{
	sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$tmp/prom" | while read -r name; do
		grep -q "^\`\`$name\`\`" "$page" || echo "$name"
	done
	# shellcheck disable=SC2016 # backquotes are meant
	sed -n '/^Metrics$/,/^Alerts$/s/^``\(smc_[a-z_]*\)``.*/\1/p' "$page" | while read -r name; do
		grep -q "^# TYPE $name " "$tmp/prom" || echo "$name: not written"
	done
}

# queries_refused: what promtool has against the queries of the dashboard, as rules
queries_refused()
{
	{
		printf 'groups:\n  - name: dashboard\n    rules:\n'
		# shellcheck disable=SC2016 # variables of Grafana
		queries | sed 's/\$__rate_interval/5m/; s/\$instance/.*/' | while read -r query; do
			n=$((n + 1))
			printf "      - record: query:%s\n        expr: '%s'\n" "$n" "$query"
		done
	} >"$tmp/dashboard.yml"
	"$promtool" check rules "$tmp/dashboard.yml" 2>&1 | grep -v '^Checking\|^$'
}

echo "KTAP version 1"
expect 'five alerts' 5 grep -c '^ *- alert: ' "$rules"
expect 'the dashboard is JSON' '' sh -c "python3 -m json.tool $dashboard >/dev/null"
expect 'all queries of the dashboard are found' "$(grep -c '"legendFormat"' "$dashboard")" \
	sh -c "grep -c '^ *\"expr\": \"' $dashboard"
expect 'every metric is one that smcctl writes' '' metrics_unknown
expect 'every label is one that smcctl writes' '' labels_unknown
expect 'every alert is explained' '' unexplained
expect 'monitoring.rst has every metric' '' metrics_undescribed
if "$promtool" --version >/dev/null 2>&1; then
	expect_rc 'promtool: what smcctl writes' 0 sh -c "'$promtool' check metrics <$tmp/prom"
	expect_rc 'promtool: the rules' 0 "$promtool" check rules "$rules"
	expect_rc 'promtool: each alert fires when it should' 0 \
		"$promtool" test rules test/prometheus-rules_test.yml
	expect_match 'promtool: the queries of the dashboard' '*SUCCESS: [1-9]* rules found' queries_refused
else
	ktap_skip 'promtool' 'it is not installed, and scripts/fetch-promtool.sh has not brought it'
fi
ktap_done
