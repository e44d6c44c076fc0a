#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl reason: every diagnosis code of the module has a sentence and a hint.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

header=../include/smc/proto/clc_msg.h

# Print the codes of enum smc_clc_reason, except the one of "none"
known_codes()
{
	sed -n 's/^\tSMC_CLC_DECL_[A-Z0-9_]*[\t ]*= \(0x[0-9a-f]*\),$/\1/p' "$header"
}

# Print the number of names in the enum, however they are written: known_codes must find them all.
number_of_names()
{
	sed -n '/^enum smc_clc_reason {/,/^};/p' "$header" | grep -c 'SMC_CLC_DECL_'
}

listed()
{
	./smcctl reason | sed -n 's/^\(0x[0-9a-f]*\)  .*/\1/p'
}

# with_text TEXT: print the codes whose description has the text
with_text()
{
	for code in $(known_codes); do
		./smcctl reason "$code" | joined | grep -q "$1" && echo "$code"
	done
}

# Print the codes that do not have exactly three lines, the last two of them sentences
incomplete()
{
	for code in $(known_codes); do
		./smcctl reason "$code" | joined | awk '
			NR == 1 && /^0x[0-9a-f]+  [^ ]/ { good++ }
			NR > 1 && /^  [A-Z\/].*[.]$/ { good++ }
			END { exit !(NR == 3 && good == 3) }' || echo "$code"
	done
}

echo "KTAP version 1"
expect 'all codes of the header are read' "$(($(number_of_names) - 1))" sh -c \
	"sed -n 's/^\tSMC_CLC_DECL_[A-Z0-9_]*[\t ]*= \(0x[0-9a-f]*\),\$/\1/p' $header | wc -l"
expect 'the table has the codes of the header, in their order' "$(known_codes)" listed
expect 'each has a text, a sentence and a hint' '' incomplete
expect 'none has the text of unknown codes' '' with_text 'unknown reason'
expect 'none has the sentence of unknown codes' '' with_text 'A code of another system'
command_named()
{
	./smcctl reason 0x03030008 | joined | grep -c "ueid add SMCV2-DEFAULT-UEID"
}
expect 'a hint that names the command' 1 command_named
expect 'without 0x' "$(./smcctl reason 0x03030000)" ./smcctl reason 03030000
expect_match 'a code of another system' '0x12345678  unknown reason
  A code of another system*' ./smcctl reason 0x12345678
expect_rc 'a code of another system: status 3' 3 ./smcctl reason 0x12345678
expect_rc 'a known code: status 0' 0 ./smcctl reason 0x05000000
expect_match 'as JSON' '*"reason":*"0x03070000"*"sentence"*"hint"*' ./smcctl -j reason 0x03070000
for words in x 0 -- '0x100000000' '1 2' '0x03030000x'; do
	# shellcheck disable=SC2086 # words
	expect_usage "reason $words" 'smcctl: reason is followed by*' ./smcctl -- reason $words
done
ktap_done
