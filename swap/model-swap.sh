#!/usr/bin/env bash
# model-swap.sh: give the GPU to another model server. One systemd unit a role, one role at a time.
#
#   model-swap.sh [--user|--system] [--conf FILE] [--dry-run] generator|reviewer
#   model-swap.sh [--user|--system] [--conf FILE] status [--json]
#   model-swap.sh [--user|--system] [--conf FILE] why ROLE     why its unit does not run, and its last lines
#   model-swap.sh [--conf FILE] log [-n N]
#
# stdout is for machines, one line as each phase begins and ends, and one at the end:
#   swap phase=<drain|stop|release|start|load|health|verify> state=<begin|done|fail> t=<seconds> [detail=…]
#   swap outcome=<done|went_back|failed> t=<seconds> from=<role> to=<role> [detail=…]
# t is what the phase, or the whole swap, has taken so far; detail runs to the end of the line. After state=fail it begins
# with one of: no_memory port_taken unit_failed timeout wrong_model disk_full refused unreachable lock_held no_systemd cancelled.
# stderr is for people. README.md beside this file has every setting; none is needed.
#
# Exit codes: 0 the role answers. 1 it does not, the model from before does. 2 wrong use or settings. 3 a needed part is missing.
# 4 it does not, and nothing else does. 5 another swap holds the lock. 143 told to end; run again to go on from there.
#
# Killed at any point, run again: nothing is remembered, everything is looked at. The lock is the kernel's and goes with this
# process, so no child may inherit it: every command gets 9>&-, and every $( ) lets go of it first.
set -uo pipefail
export LC_ALL=C
umask 077
trap '' PIPE # who reads our lines may die; the swap is still brought to its end

ROLES=(generator reviewer)
declare -A C=() # the settings
declare -A DEFAULTS=(
    [scope]=user [lock]='' [log]='' [gpu]=''
    [lock_seconds]=120 [drain_seconds]=120 [abort_seconds]=10 [stop_seconds]=75 [kill_seconds]=15
    [release_seconds]=60 [start_seconds]=30 [load_seconds]=900 [health_seconds]=300 [verify_seconds]=60
)
for role in "${ROLES[@]}"; do
    DEFAULTS[$role.unit]=navigator-$role.service
    DEFAULTS[$role.url]=http://127.0.0.1:30000
    DEFAULTS[$role.vram_mib]=0
    for key in model api_key_file admin_key_file; do DEFAULTS[$role.$key]=''; done
done
declare -A API_KEY=() ADMIN_KEY=() GROUP=() LOG_FROM=() STARTED_AT=()
MOVING='^(active|activating|deactivating|reloading|refreshing)$'
HEALTH_LIMIT=25 # seconds for one /health: SGLang generates a token for it, and gives up after 20

say() { printf '%s\n' "$*" >&2; }
die() { local code=$1; shift; say "model-swap: $*"; exit "$code"; }
unlocked() { exec 9>&-; "$@"; }

# --- time: milliseconds since boot, without a fork

now() { local up; read -r up _ </proc/uptime; NOW=$((10#${up/./} * 10)); }
seconds_of() { printf -v "$1" '%d.%03d' $(($2 / 1000)) $(($2 % 1000)); }
exec {IDLE}<> <(:) # never readable, never at its end: read -t on it is a sleep without a process
nap() { read -r -t "$1" -u "$IDLE" _ || true; }
ms_of() { # "1.5" -> 1500
    local whole=${1%%.*} part=''
    [[ $1 == *.* ]] && part=${1#*.}
    part=${part}000
    MS=$((10#${whole:-0} * 1000 + 10#${part:0:3}))
}
deadline() { now; ms_of "${C[$1]}"; DEADLINE=$((NOW + MS)); }
passed() { now; ((NOW >= DEADLINE)); }
left() { now; LEFT=$(((DEADLINE - NOW + 999) / 1000)); ((LEFT > 0)) || LEFT=1; ((LEFT <= $1)) || LEFT=$1; } # at most $1

# --- settings: read, never executed

trimmed() { local s=$1; s=${s#"${s%%[![:space:]]*}"}; TRIMMED=${s%"${s##*[![:space:]]}"}; }

read_settings() {
    local file=$1 line key number=0
    for key in "${!DEFAULTS[@]}"; do C[$key]=${DEFAULTS[$key]}; done
    if [[ -z $file ]]; then
        for file in "${XDG_CONFIG_HOME:-${HOME:-/nonexistent}/.config}/navigator/swap.conf" /etc/navigator/swap.conf ''; do
            [[ -n $file && -e $file ]] && break
        done
    elif [[ ! -r $file ]]; then
        die 2 "$file cannot be read."
    fi
    if [[ -n $file ]]; then
        while IFS= read -r line || [[ -n $line ]]; do
            number=$((number + 1))
            trimmed "$line"; line=$TRIMMED
            [[ -z $line || $line == '#'* ]] && continue
            [[ $line == *=* ]] || die 2 "$file, line $number: not of the form key = value."
            trimmed "${line%%=*}"; key=$TRIMMED
            trimmed "${line#*=}"
            [[ -n $key && -v "DEFAULTS[$key]" ]] || die 2 "$file, line $number: there is no setting \"$key\"."
            C[$key]=$TRIMMED
        done <"$file" || die 2 "$file cannot be read."
    fi
    for key in "${!DEFAULTS[@]}"; do
        line=${key^^}; line=NAVIGATOR_SWAP_${line//./_}
        [[ -v $line ]] && C[$key]=${!line}
    done
    return 0
}

check_settings() {
    local key value role
    [[ ${C[scope]} =~ ^(user|system)$ ]] || die 2 "scope is \"${C[scope]}\"; it must be user or system."
    for key in "${!C[@]}"; do
        value=${C[$key]}
        [[ $value == *[[:cntrl:]]* ]] && die 2 "$key holds a control character."
        case $key in
            *_seconds) [[ $value =~ ^[0-9]{1,6}(\.[0-9]{1,3})?$ ]] || die 2 "$key is \"$value\"; it must be seconds, such as 30." ;;
            *.vram_mib) [[ $value =~ ^[0-9]{1,8}$ ]] || die 2 "$key is \"$value\"; it must be MiB, such as 24000." ;;
            *.unit) [[ $value =~ ^[A-Za-z0-9:_.@][A-Za-z0-9:_.@-]*\.service$ ]] || die 2 "$key is \"$value\"; it must name a .service." ;;
            *.url) [[ $value =~ ^https?://[^/@?#[:space:]\"\\]+(/[^@?#[:space:]\"\\]*)?$ ]] || die 2 "$key is no plain http(s) address." ;;
        esac
    done
    [[ ${C[generator.unit]} != "${C[reviewer.unit]}" ]] || die 2 "Both roles name the unit ${C[generator.unit]}."
    if [[ ${C[scope]} == user ]]; then
        export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
        : "${C[lock]:=$XDG_RUNTIME_DIR/navigator-swap.lock}"
        : "${C[log]:=${XDG_STATE_HOME:-${HOME:-/nonexistent}/.local/state}/navigator/swap.log}"
    else
        : "${C[lock]:=/run/lock/navigator-swap.lock}"
        : "${C[log]:=/var/log/navigator-swap.log}"
    fi
    for role in "${ROLES[@]}"; do
        C[$role.url]=${C[$role.url]%/}; C[$role.url]=${C[$role.url]%/v1}
        read_key "$role" api_key API_KEY
        read_key "$role" admin_key ADMIN_KEY
    done
}

read_key() { # role, api_key|admin_key, the array it goes to; the variable is taken out of what children see
    local -n into=$3
    local file=${C[$1.$2_file]} name=NAVIGATOR_SWAP_${1^^}_${2^^} mode
    into[$1]=''
    if [[ -v $name ]]; then
        into[$1]=${!name}
        unset "$name"
    elif [[ -n $file ]]; then
        mode=$(stat -L -c %a -- "$file" 2>/dev/null) || die 2 "$1.$2_file: $file cannot be read."
        [[ $mode == *00 ]] || die 2 "$file can be read by others (mode $mode): chmod 600 it."
        IFS= read -r "into[$1]" <"$file" || [[ -n ${into[$1]} ]] || die 2 "$file holds no key."
    fi
    [[ ${into[$1]} != *[[:cntrl:]]* ]] || die 2 "The $2 of the $1 holds a control character."
}

# --- what is said and kept

plain() { # one line without control characters, not too long
    local s=${1//[[:cntrl:]]/ }
    PLAIN=${s:0:${2:-300}}
}
stamp() { TZ=UTC printf -v STAMP '%(%FT%TZ)T' -1; }
json() { local s=${1//[[:cntrl:]]/ }; s=${s//\\/\\\\}; JSON=\"${s//\"/\\\"}\"; }

LOG_BROKEN='' DRY=''
keep() { # one line to the log, under its own lock; a log that cannot be written never stops a swap
    [[ -z $LOG_BROKEN && -z $DRY ]] || return 0 # what is only looked at is not kept
    { flock -w 2 8 && printf '%s\n' "$1" >&8; } 2>/dev/null 8>>"${C[log]}" 9>&- && return 0
    LOG_BROKEN=1
    say "disk_full? The log ${C[log]} cannot be written; the swap continues without it."
}

ID='' FROM='' TO='' PHASE='' BEGAN=0 STARTED=0 CLASS='' WORDS=''
begin() {
    now; PHASE=$1; BEGAN=$NOW; PHASE_DETAIL=${2:-}
    printf 'swap phase=%s state=begin t=0.000%s\n' "$1" "${2:+ detail=$2}" 2>/dev/null
}
ended() { # state, detail
    local t detail
    now; seconds_of t $((NOW - BEGAN)); plain "${2:-$PHASE_DETAIL}"; detail=$PLAIN
    printf 'swap phase=%s state=%s t=%s%s\n' "$PHASE" "$1" "$t" "${detail:+ detail=$detail}" 2>/dev/null
    printf '%-8s %-5s %8.1f s  %s\n' "$PHASE" "$1" "$t" "$detail" >&2
    json "$detail"; stamp
    keep "{\"swap\":\"$ID\",\"time\":\"$STAMP\",\"from\":\"$FROM\",\"to\":\"$TO\",\"phase\":\"$PHASE\",\"state\":\"$1\",\"seconds\":$t,\"detail\":$JSON}"
    PHASE=''
}
done_() { ended 'done' "${1:-}"; }
fail() { # class, words: the phase has failed
    plain "$2"; CLASS=$1 WORDS=$PLAIN
    ended fail "$1 $WORDS"
    return 1
}
finish() { # outcome, exit code, class, words
    local t detail
    now; seconds_of t $((NOW - STARTED)); plain "${3:+$3 }${4:-}"; detail=$PLAIN
    json "$detail"; stamp
    keep "{\"swap\":\"$ID\",\"time\":\"$STAMP\",\"from\":\"$FROM\",\"to\":\"$TO\",\"outcome\":\"$1\",\"class\":\"$3\",\"seconds\":$t,\"detail\":$JSON}"
    [[ -z $LOG_BROKEN ]] || detail=${detail:-disk_full the log ${C[log]} could not be written}
    printf 'swap outcome=%s t=%s from=%s to=%s%s\n' "$1" "$t" "${FROM:-none}" "$TO" "${detail:+ detail=$detail}" 2>/dev/null
    say "$1 after $t s${4:+: $4}"
    exit "$2"
}

# --- HTTP: everything curl is told goes through its stdin, so that no key shows in ps

quoted() { local s=${1//\\/\\\\}; QUOTED=\"${s//\"/\\\"}\"; }
ask() { # role, path, seconds at most, [JSON to post], [key to use]: sets STATUS (000: no answer) and BODY
    local config answer key=${5-${API_KEY[$1]}}
    quoted "${C[$1.url]}$2"
    config="url = $QUOTED"$'\n'"silent"$'\n'"globoff"$'\n'"noproxy = \"*\""$'\n'"max-time = $3"$'\n'"connect-timeout = 5"$'\n'
    config+="max-filesize = 4194304"$'\n'"proto = \"=http,https\""$'\n'"write-out = \"\\n%{http_code}\""$'\n'
    if [[ -n ${4:-} ]]; then
        quoted "$4"
        config+="data-raw = $QUOTED"$'\n'"header = \"Content-Type: application/json\""$'\n'
    fi
    if [[ -n $key ]]; then
        quoted "Authorization: Bearer $key"
        config+="header = $QUOTED"$'\n'
    fi
    answer=$(exec 9>&-; curl -q -K - <<<"$config" 2>/dev/null | tr -d '\000')
    STATUS=${answer##*$'\n'} BODY=${answer%$'\n'*}
    [[ $STATUS =~ ^[0-9]{3}$ ]] || STATUS=000
}
count_of() { # how often the named JSON key is true in BODY
    local text=$BODY pattern="\"$1\"[[:space:]]*:[[:space:]]*true"
    SUM=0
    while [[ $text =~ $pattern ]]; do SUM=$((SUM + 1)); text=${text#*"${BASH_REMATCH[0]}"}; done
}
sum_of() { # adds every whole number that stands behind one of the named JSON keys in BODY
    local text=$BODY pattern="\"($1)\"[[:space:]]*:[[:space:]]*([0-9]{1,9})"
    SUM=0 FOUND=''
    while [[ $text =~ $pattern ]]; do
        SUM=$((SUM + 10#${BASH_REMATCH[2]})); FOUND=1
        text=${text#*"${BASH_REMATCH[0]}"}
    done
}
port_of() { # role: PORT, "" where the server is not on this machine
    local place=${C[$1.url]#*://} host
    place=${place%%/*}; PORT=${place##*:}; host=${place%:*}
    [[ $place == *:* && $PORT =~ ^[0-9]+$ ]] || { PORT=80; host=$place; [[ ${C[$1.url]} == https:* ]] && PORT=443; }
    [[ $host =~ ^(127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0)$ ]] || PORT=''
}
listening() { # port: whether somebody listens on it, on the loopback or everywhere
    local text wanted file
    if command -v ss >/dev/null; then # asks the kernel for this port alone; /proc/net/tcp has to be made whole for each look
        text=$(exec 9>&-; ss -Hltn "sport = :$1" 2>/dev/null)
        [[ $text =~ (127\.0\.0\.1|0\.0\.0\.0|localhost|\*|\[::\]|\[::1\]|::1?)(%[^\ :]*)?\]?:$1[[:space:]] ]]
        return
    fi
    printf -v wanted '(0{8}|0{32}|0100007F|0{24}01000000|0{16}F{4}0{4}0100007F|0{16}0{4}F{4}0100007F):%04X [0-9A-F]+:0000 0A ' "$1"
    for file in /proc/net/tcp /proc/net/tcp6; do
        [[ -r $file ]] || continue
        text=''
        read -r -N 16000000 text <"$file" || true # in one go: line by line bash seeks back, and the kernel starts again
        [[ $text =~ $wanted ]] && return 0
    done
    return 1
}

# --- systemd

unit() { timeout --foreground -k 5 "$1" systemctl "--${C[scope]}" --no-pager --no-ask-password "${@:2}" </dev/null 9>&-; }
look() { # role: LOADED, ACTIVE, SUB, RESULT, PID, ENTERED (ms since boot); GROUP[role] is kept once known
    local line shown
    LOADED='' ACTIVE=unknown SUB='' RESULT='' PID=0 ENTERED=0
    shown=$(unlocked unit 15 show "${C[$1.unit]}" -p LoadState,ActiveState,SubState,Result,MainPID,ControlGroup,ActiveEnterTimestampMonotonic 2>&1) ||
        { plain "$shown"; SUB=$PLAIN; return 1; }
    while IFS= read -r line; do
        case $line in
            LoadState=*) LOADED=${line#*=} ;;
            ActiveState=*) ACTIVE=${line#*=} ;;
            SubState=*) SUB=${line#*=} ;;
            Result=*) RESULT=${line#*=} ;;
            MainPID=*) PID=${line#*=} ;;
            ControlGroup=/?*) GROUP[$1]=${line#*=} ;;
            ActiveEnterTimestampMonotonic=*) ENTERED=$((10#${line#*=} / 1000)) ;;
        esac
    done <<<"$shown"
}
running() { look "$1" && [[ $ACTIVE =~ $MOVING ]]; }
members() { # role: MEMBERS, the processes in the unit's control group, whatever systemd calls the unit
    local base file pid
    MEMBERS=()
    [[ -n ${GROUP[$1]:-} ]] || return 0
    for base in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
        for file in "$base${GROUP[$1]}"/cgroup.procs "$base${GROUP[$1]}"/*/cgroup.procs; do
            [[ -r $file ]] || continue
            while read -r pid; do ((pid > 1)) && MEMBERS+=("$pid"); done 2>/dev/null <"$file"
        done
        ((${#MEMBERS[@]} == 0)) || return 0
    done
    return 0
}
log_files() { # role: FILES, where the unit appends its output, if it does
    local line path
    FILES=()
    while IFS= read -r line; do
        [[ $line =~ ^Standard(Output|Error)=(append|file|truncate):(/.*|%[ht]/.*)$ ]] || continue
        path=${BASH_REMATCH[3]}
        path=${path/#%h/${HOME:-}}; path=${path/#%t/${XDG_RUNTIME_DIR:-/run}}
        [[ " ${FILES[*]-} " == *" $path "* ]] || FILES+=("$path")
    done < <(unlocked unit 10 cat "${C[$1.unit]}" 2>/dev/null)
}
note_log() { # remember the time and how long the unit's files are, so that only what comes after is shown
    local file
    STARTED_AT[$1]=$EPOCHSECONDS
    log_files "$1"
    for file in "${FILES[@]}"; do LOG_FROM[$file]=$(stat -L -c %s -- "$file" 2>/dev/null || echo 0); done
}
last_words() { # role: TAIL, the unit's last lines since it was started
    local file
    TAIL=''
    log_files "$1"
    for file in "${FILES[@]}"; do
        TAIL+=$(exec 9>&-; timeout --foreground 5 tail -c "+$((${LOG_FROM[$file]:-0} + 1))" -- "$file" 2>/dev/null | tail -c 20000 | tr -d '\000' | tail -n 20)
    done
    [[ -n $TAIL ]] && return 0
    # Only what the unit's own processes wrote; systemd's remarks about it come by another field.
    local field=_SYSTEMD_UNIT journal=(journalctl -q --no-pager -o cat -n 20) try
    [[ ${C[scope]} == user ]] && { field=_SYSTEMD_USER_UNIT; journal+=(--user); }
    [[ -n ${STARTED_AT[$1]:-} ]] && journal+=(--since "@${STARTED_AT[$1]}")
    for try in 1 2; do # the journal may be a moment behind
        TAIL=$(exec 9>&-; timeout --foreground 10 "${journal[@]}" "$field=${C[$1.unit]}" 2>/dev/null </dev/null | tr -d '\000')
        [[ -n $TAIL || $try == 2 ]] && return 0
        nap 0.2
    done
}
classified() { # role, what else is known: CAUSE and TELLING for a unit that ended
    local line last=''
    last_words "$1"
    CAUSE=unit_failed
    shopt -s nocasematch
    if [[ $RESULT == oom-kill || $TAIL =~ (out\ of\ memory|OutOfMemory|not\ enough\ memory|cannot\ allocate\ memory) ]]; then CAUSE=no_memory
    elif [[ $TAIL =~ (no\ space\ left\ on\ device|ENOSPC|disk\ quota\ exceeded) ]]; then CAUSE=disk_full
    elif [[ $TAIL =~ (address\ already\ in\ use|EADDRINUSE|errno\ 98) ]]; then CAUSE=port_taken
    elif [[ $RESULT == timeout ]]; then CAUSE=timeout
    fi
    shopt -u nocasematch
    while IFS= read -r line; do [[ $line =~ [^[:space:]] ]] && last=$line; done <<<"$TAIL"
    plain "$last" 160
    TELLING="${C[$1.unit]} $2${RESULT:+ ($RESULT)}${PLAIN:+: $PLAIN}"
    [[ -z $TAIL ]] || say "Its last lines:"$'\n'"$(printf '%s' "$TAIL" | tr -d '\001-\010\013-\037\177' | sed 's/^/    /')"
}

# --- video memory

free_vram() { # VRAM: MiB free, "" where it cannot be known
    local options=('--query-gpu=memory.free' '--format=csv,noheader,nounits') line
    VRAM=''
    command -v nvidia-smi >/dev/null || return 0
    [[ -n ${C[gpu]} ]] && options+=(-i "${C[gpu]}")
    while IFS= read -r line; do
        [[ $line =~ ^[[:space:]]*([0-9]+)[[:space:]]*$ ]] && VRAM=$((${VRAM:-0} + BASH_REMATCH[1]))
    done < <(unlocked timeout --foreground -k 2 10 nvidia-smi "${options[@]}" 2>/dev/null </dev/null)
}

# --- one phase each; false: it failed, CLASS and WORDS say why

load_of() { # role: LOAD, a number of requests, or gone, mute (takes the connection, says nothing), unknown
    local how=${KNOWS[$1]:-}
    LOAD=unknown
    port_of "$1"
    if [[ -n $PORT ]] && ! listening "$PORT"; then LOAD=gone; return; fi
    if [[ -z $how || $how == loads ]]; then # SGLang
        ask "$1" '/v1/loads?include=core,queues' 5
        [[ $STATUS == 000 ]] && { LOAD=mute; return; }
        [[ $STATUS =~ ^4(00|22)$ ]] && ask "$1" /v1/loads 5
        [[ $STATUS == 200 ]] && sum_of 'num_running_reqs|num_waiting_reqs|grammar|paused|retracted' && [[ -n $FOUND ]] && how=loads LOAD=$SUM
    fi
    if [[ -z $how || $how == slots ]]; then # llama.cpp
        ask "$1" /slots 5
        if [[ $STATUS == 200 && $BODY == *'"is_processing"'* ]]; then
            count_of is_processing
            how=slots LOAD=$SUM
        fi
    fi
    if [[ -z $how || $how == vllm ]]; then
        ask "$1" /load 5
        [[ $STATUS == 200 ]] && sum_of server_load && [[ -n $FOUND ]] && how=vllm LOAD=$SUM
    fi
    if [[ -z $how || $how == metrics ]]; then
        ask "$1" /metrics 5
        local line found=''
        if [[ $STATUS == 200 ]]; then
            SUM=0
            while IFS= read -r line; do
                [[ $line =~ ^(sglang:num_running_reqs|sglang:num_queue_reqs|vllm:num_requests_running|vllm:num_requests_waiting|llamacpp:requests_processing|llamacpp:requests_deferred)(\{[^}]*\})?\ ([0-9]+)(\.0+)?$ ]] &&
                    SUM=$((SUM + 10#${BASH_REMATCH[3]})) found=1
            done <<<"$BODY"
            [[ -n $found ]] && how=metrics LOAD=$SUM
        fi
    fi
    KNOWS[$1]=${how:-none}
}
declare -A KNOWS=()

drain() { # role
    local mute=0 idle=0
    begin drain
    deadline drain_seconds
    while :; do
        load_of "$1"
        case $LOAD in
            gone) done_ "nothing answers at ${C[$1.url]}, so nothing runs"; return ;;
            unknown) done_ "${C[$1.url]} does not say how busy it is: not waited for"; return ;;
            mute) ((++mute < 3)) || { done_ "${C[$1.url]} hangs: not waited for"; return; } ;;
            0) ((++idle < 2)) || { done_; return; } ;; # twice: a request may stand between two queues
            *) idle=0 mute=0 ;;
        esac
        if passed; then abort "$1"; return; fi
        nap 0.1
    done
}
abort() { # role: the caller's own requests by id, so that it knows them; then whatever else is left
    local rid count=0 busy=$LOAD key=${ADMIN_KEY[$1]:-${API_KEY[$1]}} rids=${NAVIGATOR_SWAP_RIDS:-}
    [[ -r ${NAVIGATOR_SWAP_RIDS_FILE:-} ]] && rids+=" $(<"$NAVIGATOR_SWAP_RIDS_FILE")"
    for rid in $rids; do
        [[ $rid =~ ^[A-Za-z0-9_.-]{1,128}$ ]] || continue
        ask "$1" /abort_request 5 "{\"rid\": \"$rid\"}" "$key"
        [[ $STATUS == 000 ]] && break
        [[ $STATUS == 200 ]] && count=$((count + 1))
    done
    ((count)) && wait_idle "$1"
    if [[ $LOAD != 0 ]]; then
        ask "$1" /abort_request 5 '{"rid": "", "abort_all": true}' "$key"
        if [[ $STATUS != 200 ]]; then
            done_ "aborted: time was up with $busy in flight; the server takes no orders to abort, so stopping it cuts them off"
            return
        fi
        wait_idle "$1"
        done_ "aborted: time was up with $busy in flight; $count by id, then all"
        return
    fi
    done_ "aborted: time was up with $busy in flight; $count by id"
}
wait_idle() {
    deadline abort_seconds
    while load_of "$1"; [[ $LOAD =~ ^[1-9] ]] && ! passed; do nap 0.1; done
    [[ $LOAD =~ ^[1-9] ]] || LOAD=0
}

forbidden() { [[ $1 =~ ([Aa]ccess\ denied|[Aa]uthentication\ (is\ )?required|[Pp]ermission\ denied|not\ permitted) ]]; }
gone() { look "$1" && ! [[ $ACTIVE =~ $MOVING ]]; }
stop() { # roles
    local role code killed='' said
    begin stop "${GOING_BACK:-}"
    for role in "$@"; do
        members "$role"
        said=$(unlocked unit "${C[stop_seconds]}" stop "${C[$role.unit]}" 2>&1)
        code=$?
        if gone "$role"; then continue; fi
        forbidden "$said" && { fail refused "systemctl may not stop ${C[$role.unit]}: $said"; return 1; }
        killed="${C[$role.unit]} did not stop within ${C[stop_seconds]} s and got SIGKILL"
        ((code == 124 || code == 137)) || killed="systemctl stop ${C[$role.unit]} failed ($code); it got SIGKILL"
        unit 10 kill -s SIGKILL "${C[$role.unit]}" 2>/dev/null
        deadline kill_seconds
        until gone "$role"; do
            passed && { fail timeout "${C[$role.unit]} is still $ACTIVE ${C[kill_seconds]} s after SIGKILL"; return 1; }
            nap 0.1
        done
    done
    done_ "$killed"
}
release() { # the role to come, the roles that went; GOING_BACK set: missing memory is said, but tried with
    local to=$1 role missing kind killed='' grace
    shift
    begin release "${GOING_BACK:-}"
    deadline release_seconds
    grace=$((NOW + 2000))
    while :; do
        missing='' kind=''
        for role in "$@"; do
            members "$role"
            ((${#MEMBERS[@]})) || continue
            missing="${C[$role.unit]} left ${#MEMBERS[@]} processes behind (${MEMBERS[*]:0:5})" kind=unit_failed
            if passed || ((NOW > grace)) && [[ -z $killed ]]; then
                killed="$missing; they got SIGKILL"
                unit 10 kill -s SIGKILL "${C[$role.unit]}" 2>/dev/null || kill -KILL "${MEMBERS[@]}" 2>/dev/null
            fi
        done
        port_of "$to"
        if [[ -z $missing && -n $PORT ]] && listening "$PORT"; then
            missing="port $PORT is held by something that is none of the two units" kind=port_taken
        fi
        if [[ -z $missing ]] && ((C[$to.vram_mib] > 0)); then
            free_vram
            ((${VRAM:-${C[$to.vram_mib]}} >= C[$to.vram_mib])) ||
                missing="$VRAM MiB of video memory are free, ${C[$to.unit]} needs ${C[$to.vram_mib]}" kind=no_memory
        fi
        [[ -z $missing ]] && { done_ "$killed"; return; }
        if passed; then
            [[ -n ${GOING_BACK:-} && $kind == no_memory ]] && { done_ "$missing; tried all the same"; return; }
            fail "$kind" "$missing after ${C[release_seconds]} s"
            return 1
        fi
        nap 0.05
    done
}

start() { # role
    local said code
    begin start "${GOING_BACK:-}"
    unit 10 reset-failed "${C[$1.unit]}" 2>/dev/null # an earlier failure must not count against its start limit
    note_log "$1"
    said=$(unlocked unit "${C[start_seconds]}" start "${C[$1.unit]}" 2>&1)
    code=$?
    look "$1" || true
    if ((code == 124 || code == 137)); then
        fail timeout "${C[$1.unit]} is still $ACTIVE after ${C[start_seconds]} s"
    elif ((code)) || ! [[ $ACTIVE =~ ^(active|activating|reloading)$ ]]; then
        [[ -n $said ]] && say "$said"
        forbidden "$said" && { fail refused "systemctl may not start ${C[$1.unit]}: $said"; return 1; }
        classified "$1" "did not start"
        fail "$CAUSE" "$TELLING"
    else
        done_
    fi
}
alive() { # role: its unit still runs; else the phase has failed. systemd is asked only when there is a reason
    now
    [[ $PID != 0 && -d /proc/$PID ]] && ((NOW < LOOKED + 2000)) && return 0
    LOOKED=$NOW
    look "$1" || return 0 # systemd does not answer now: the deadline decides
    [[ $ACTIVE =~ ^(active|activating|reloading)$ ]] && return 0
    classified "$1" "ended while it was waited for"
    fail "$CAUSE" "$TELLING"
}
LOOKED=0
load() { # role: until it answers anything at all
    begin load "${GOING_BACK:-}"
    deadline load_seconds
    while alive "$1" || return 1; do
        port_of "$1"
        if [[ -z $PORT ]] || listening "$PORT"; then
            left 5; ask "$1" /v1/models "$LEFT"
            [[ $STATUS == [1-4]* ]] && { done_; return; }
            nap 0.1
        fi
        passed && { fail timeout "nothing answers at ${C[$1.url]} after ${C[load_seconds]} s"; return 1; }
        nap 0.1
    done
}
healthy() { # role, seconds at most: one question
    ask "$1" /health "$2"
    if [[ $STATUS =~ ^(401|403|404|405)$ ]]; then ask "$1" /v1/models "$2"; fi
    [[ $STATUS == 200 ]]
}
health() { # role: until it says that it is ready
    begin health "${GOING_BACK:-}"
    deadline health_seconds
    while alive "$1" || return 1; do
        left "$HEALTH_LIMIT"
        healthy "$1" "$LEFT" && { done_; return; }
        passed && { fail timeout "/health of ${C[$1.url]} says $STATUS after ${C[health_seconds]} s"; return 1; }
        nap 0.1
    done
}

plain_name() { # what is left of a model's name without folders, owner, revision, ending, tag and case
    local name=${1%/}
    [[ $name =~ models--[^/]+--([^/]+) ]] && name=${BASH_REMATCH[1]}
    name=${name##*/}; name=${name%%@*}; name=${name,,}; name=${name%.gguf}; NAME=${name%:latest}
}
serves() { # role: SERVED, and whether the wanted model is among it
    local text wanted pattern='"(model_path|id)"[[:space:]]*:[[:space:]]*"(([^"\\]|\\.)*)"' name
    SERVED=()
    for name in /model_info /v1/models; do
        left 10; ask "$1" "$name" "$LEFT"
        [[ $STATUS == 200 ]] || continue
        text=$BODY
        while [[ $text =~ $pattern ]] && ((${#SERVED[@]} < 50)); do
            SERVED+=("${BASH_REMATCH[2]//\\\//\/}")
            text=${text#*"${BASH_REMATCH[0]}"}
        done
        plain_name "${C[$1.model]}"; wanted=$NAME
        for text in "${SERVED[@]}"; do
            plain_name "$text"
            [[ -z $wanted || $NAME == "$wanted" ]] && return 0
        done
    done
    return 1
}
token() { # role: one real token, by the way that answers take
    local model=${C[$1.model]:-${SERVED[0]:-}}
    json "$model"
    left 60
    ask "$1" /v1/chat/completions "$LEFT" \
        "{\"model\": $JSON, \"messages\": [{\"role\": \"user\", \"content\": \"ping\"}], \"max_tokens\": 1, \"temperature\": 0, \"stream\": false}"
    [[ $STATUS == 200 && $BODY == *'"finish_reason"'* ]]
}
verified() { # role: CLASS and WORDS where not; asks again while the server is merely busy
    local text
    while :; do
        if ! serves "$1"; then
            case $STATUS in
                401 | 403) CLASS=refused WORDS="${C[$1.url]} refuses the key (HTTP $STATUS)" ;;
                000 | 5*) CLASS=unreachable WORDS="${C[$1.url]} does not say what it serves (HTTP $STATUS)" ;;
                *) CLASS=wrong_model WORDS="${C[$1.url]} serves ${SERVED[*]:0:3}, not ${C[$1.model]}" ;;
            esac
            [[ ${#SERVED[@]} -gt 0 && $CLASS == unreachable ]] && CLASS=wrong_model
        elif token "$1"; then
            return 0
        else
            plain "$BODY" 120; text=$PLAIN
            CLASS=refused WORDS="${C[$1.url]} gave no token (HTTP $STATUS): $text"
            [[ $STATUS == 000 ]] && CLASS=timeout
        fi
        [[ $STATUS =~ ^(429|5..)$ ]] && ! passed || return 1
        nap 0.3
    done
}
verify() { # role
    begin verify "${GOING_BACK:-}"
    deadline verify_seconds
    if verified "$1"; then done_; return; fi
    [[ $CLASS == wrong_model ]] && stranger "$1" && CLASS=port_taken WORDS="port $PORT is held by $HOLDER, no process of ${C[$1.unit]}: $WORDS"
    fail "$CLASS" "$WORDS"
}

stranger() { # role: HOLDER listens on its port and is none of its unit's processes; false too where that is unknown
    local text pid own=''
    port_of "$1"; members "$1"
    [[ -n $PORT && ${#MEMBERS[@]} -gt 0 ]] && command -v ss >/dev/null || return 1
    text=$(exec 9>&-; ss -Hltnp "sport = :$PORT" 2>/dev/null)
    HOLDER=''
    while [[ $text =~ \"([^\"]*)\",pid=([0-9]+) ]]; do
        pid=${BASH_REMATCH[2]} text=${text#*"${BASH_REMATCH[0]}"}
        HOLDER+="${HOLDER:+, }process $pid (${BASH_REMATCH[1]})"
        [[ " ${MEMBERS[*]} " == *" $pid "* ]] && own=1
    done
    [[ -n $HOLDER && -z $own ]]
}

bring_up() { start "$1" && load "$1" && health "$1" && verify "$1"; }
resident() { # role: its unit runs, and it answers as the right model; no phase of its own
    running "$1" || return 1
    port_of "$1"
    [[ -z $PORT ]] || listening "$PORT" || return 1
    healthy "$1" "$HEALTH_LIMIT" || return 1
    deadline verify_seconds
    verified "$1"
}

# --- a swap

take_lock() {
    local holder=''
    mkdir -p -- "${C[lock]%/*}" 2>/dev/null
    [[ ! -L ${C[lock]} ]] || die 2 "the lock ${C[lock]} is a link; remove it, or set lock in swap.conf."
    { exec 9>>"${C[lock]}"; } 2>/dev/null || die 3 "the lock ${C[lock]} cannot be opened; set lock in swap.conf."
    if ! flock -n 9; then
        IFS= read -r holder 2>/dev/null <"${C[lock]}" || true
        plain "${holder:-somebody}"; holder=$PLAIN
        say "Another swap is under way ($holder): waiting at most ${C[lock_seconds]} s."
        flock -w "${C[lock_seconds]}" 9 || { exec 9>&-; finish failed 5 lock_held "by $holder for more than ${C[lock_seconds]} s"; }
    fi
    : >"${C[lock]}"
    printf 'pid=%s to=%s since=%(%T)T\n' "$$" "$TO" -1 >&9
}
# shellcheck disable=SC2317  # called by a trap
cancelled() {
    trap '' TERM INT HUP
    [[ -z $PHASE ]] || fail cancelled "told to end"
    finish failed 143 cancelled "told to end; run again to go on from what is there"
}
needs() {
    local part
    for part in curl flock systemctl timeout stat tail tr; do
        command -v "$part" >/dev/null || die 3 "$part is not installed."
    done
}
advise_systemd() {
    if [[ ${C[scope]} == user ]]; then
        say "model-swap: there is no systemd of your own to ask. Log in to a session (not by su or sudo), or: loginctl enable-linger."
        say "model-swap: units in the system's systemd need scope = system in swap.conf, or --system."
    else
        say "model-swap: the system's systemd is not process 1, or may not be asked. Units of your own need scope = user, or --user."
    fi
    say "model-swap: where there is none, as in most containers, Navigator has other strategies: sleep, command, managed."
}
observe() { # target: OTHERS, the roles in the way; FROM; MINE, whether the target's own unit runs
    local role
    OTHERS=() MINE=''
    for role in "${ROLES[@]}"; do
        if ! look "$role"; then
            advise_systemd
            finish failed 3 no_systemd "systemctl --${C[scope]} does not answer: $SUB"
        fi
        members "$role"
        if [[ $role == "$1" ]]; then
            [[ $LOADED == loaded ]] || finish failed 3 unit_failed "systemd does not know ${C[$role.unit]} (${LOADED:-nothing}): install the unit first"
            [[ $ACTIVE =~ $MOVING || ${#MEMBERS[@]} -gt 0 ]] && MINE=1
        elif [[ $ACTIVE =~ $MOVING || ${#MEMBERS[@]} -gt 0 ]]; then
            OTHERS+=("$role")
        fi
    done
    FROM=${OTHERS[0]:-}
}
strangers_port() { # role: PORT is held although neither unit that answers there runs
    local role wanted
    port_of "$1"; wanted=$PORT
    [[ -n $wanted ]] && listening "$wanted" || return 1
    for role in "${OTHERS[@]}" ${MINE:+"$1"}; do
        port_of "$role"
        [[ $PORT == "$wanted" ]] && return 1
    done
    PORT=$wanted
}
swap_to() {
    local went=()
    TO=$1
    now; STARTED=$NOW
    stamp; ID=$STAMP-$$
    trap cancelled TERM INT HUP
    take_lock
    observe "$TO"
    if [[ -n $MINE ]] && resident "$TO"; then
        begin verify 'already resident'; done_
        FROM=$TO
        finish 'done' 0 '' ''
    fi
    if strangers_port "$TO"; then
        begin start
        fail port_taken "port $PORT is held by something that is none of the two units; nothing was stopped"
        [[ -n $FROM ]] && finish went_back 1 "$CLASS" "$WORDS"
        finish failed 4 "$CLASS" "$WORDS"
    fi
    if [[ -n $MINE && ${#OTHERS[@]} -eq 0 ]] && young "$TO"; then
        say "${C[$TO.unit]} is being started already: going on from there."
        load "$TO" && health "$TO" && verify "$TO" && finish 'done' 0 '' ''
    fi
    went=("${OTHERS[@]}" ${MINE:+"$TO"})
    change "${went[@]}" || go_back
    finish 'done' 0 '' ''
}
young() { # role: its unit is not older than a load may take
    look "$1" || return 1
    now; ms_of "${C[load_seconds]}"
    [[ $ACTIVE == activating || ($ACTIVE == active && $NOW -lt $((ENTERED + MS))) ]]
}
change() { # the roles that have to go
    local role
    for role in "$@"; do drain "$role"; done
    (($# == 0)) || stop "$@" || return 1
    release "$TO" "$@" || return 1
    bring_up "$TO"
}
go_back() {
    local class=$CLASS words=$WORDS
    [[ -n $FROM ]] || finish failed 4 "$class" "$words"
    GOING_BACK="going back to $FROM"
    say "$words: $GOING_BACK."
    stop "$TO" || finish failed 4 "$class" "$words; going back failed too: $WORDS"
    resident "$FROM" && finish went_back 1 "$class" "$words"
    running "$FROM" && { stop "$FROM" || finish failed 4 "$class" "$words; going back failed too: $WORDS"; }
    release "$FROM" "$TO" && bring_up "$FROM" && finish went_back 1 "$class" "$words"
    finish failed 4 "$class" "$words; going back failed too: $CLASS $WORDS"
}

# --- what is only looked at

plan() {
    local role
    TO=$1
    now; STARTED=$NOW
    observe "$TO"
    if [[ -n $MINE ]] && resident "$TO"; then
        echo "$TO is resident and verified: nothing would be done."
        exit 0
    fi
    strangers_port "$TO" && echo "Port $PORT is held by something that is none of the two units: it would fail here (port_taken)."
    for role in "${OTHERS[@]}" ${MINE:+"$TO"}; do
        load_of "$role"
        echo "drain    ${C[$role.url]}: at most ${C[drain_seconds]} s (in flight now: $LOAD), then abort"
        echo "stop     ${C[$role.unit]}: at most ${C[stop_seconds]} s, then SIGKILL and ${C[kill_seconds]} s more"
    done
    port_of "$TO"; free_vram
    echo "release  processes gone, ${PORT:+port $PORT free, }${C[$TO.vram_mib]} MiB of video memory free (now: ${VRAM:-not known}): at most ${C[release_seconds]} s"
    echo "start    ${C[$TO.unit]}: at most ${C[start_seconds]} s"
    echo "load     until ${C[$TO.url]} answers: at most ${C[load_seconds]} s"
    echo "health   until /health says 200: at most ${C[health_seconds]} s"
    echo "verify   model ${C[$TO.model]:-(any)}, one token: at most ${C[verify_seconds]} s"
    [[ -n $FROM ]] && echo "On failure: back to $FROM." || echo "On failure: nothing to go back to."
    exit 0
}

status() { # "--json" or ""
    local role rows=() held=false holder='' word resident='' health model blind=0
    exec 9>&-
    if [[ -e ${C[lock]} ]] && ! flock -n "${C[lock]}" true; then
        held=true
        IFS= read -r holder 2>/dev/null <"${C[lock]}" || true
    fi
    for role in "${ROLES[@]}"; do
        look "$role"
        health=000 model='' word='does not run'
        if [[ $ACTIVE =~ $MOVING ]]; then
            word="runs, does not answer yet"
            port_of "$role"
            if [[ -z $PORT ]] || listening "$PORT"; then
                healthy "$role" "$HEALTH_LIMIT"
                health=$STATUS
                deadline verify_seconds
                serves "$role" && word='serves another model' && [[ $health == 200 ]] && word=resident resident=${resident:-$role}
                [[ ${#SERVED[@]} -gt 0 && $word != resident ]] && word="runs, /health says $health, serves ${SERVED[0]}"
                model=${SERVED[0]:-}
            fi
        fi
        [[ $LOADED == not-found ]] && word='has no unit'
        [[ -z $LOADED ]] && word="systemd does not answer: $SUB" blind=3
        plain "$model" 200
        if [[ -n $1 ]]; then
            json "${C[$role.unit]}"; local unit_name=$JSON
            json "$PLAIN"; local served=$JSON
            json "${C[$role.model]}"
            rows+=("{\"role\":\"$role\",\"unit\":$unit_name,\"active\":\"$ACTIVE\",\"health\":$((10#$health)),\"model\":$served,\"expected\":$JSON,\"resident\":$([[ $word == resident ]] && echo true || echo false)}")
        else
            printf '%-10s %-36s %-12s %s%s\n' "$role" "${C[$role.unit]}" "$ACTIVE" "$word" "${PLAIN:+  ($PLAIN)}"
        fi
    done
    free_vram
    if [[ -n $1 ]]; then
        json "$holder"
        word=null
        [[ -n $resident ]] && word=\"$resident\"
        local IFS=,
        printf '{"resident":%s,"roles":[%s],"swapping":%s,"lock":%s,"free_vram_mib":%s}\n' \
            "$word" "${rows[*]}" "$held" "$JSON" "${VRAM:-null}"
    else
        echo "swap resident=${resident:-none} swapping=$held${VRAM:+ free_vram_mib=$VRAM}"
        [[ $held == true ]] && say "A swap is under way: $holder"
    fi
    exit "$blind"
}

show_log() { # how many
    local line id time from to phases t detail lines
    declare -A took=()
    [[ -r ${C[log]} ]] || { say "No swap was logged yet: ${C[log]}"; exit 0; }
    field() { [[ $line =~ \"$1\":\"?([^\",}]*) ]] && printf -v "$2" '%s' "${BASH_REMATCH[1]}"; }
    mapfile -t lines < <(tail -n "$((20 * $1 + 20))" -- "${C[log]}" | tr -d '\000')
    local rows=()
    for line in "${lines[@]}"; do
        id='' t='' phases='' detail=''
        [[ $line == '{"swap":"'*'}' ]] || continue
        field swap id || continue
        field seconds t || continue
        if field phase phases; then
            local state=''
            field state state
            [[ $state == fail ]] && t=$t!
            took[$id]+="${took[$id]:+ }$phases $t"
        elif field outcome phases; then
            time='' from='' to=''
            field time time; field from from; field to to
            [[ $line =~ \"detail\":\"(([^\"\\]|\\.)*)\" ]] && detail=${BASH_REMATCH[1]}
            rows+=("$(printf '%-20s  %-9s  %-9s  %-9s  %9s  %s%s' "$time" "${from:--}" "$to" "$phases" "$t" "${took[$id]:-}" "${detail:+  [$detail]}")")
        fi
    done
    printf '%-20s  %-9s  %-9s  %-9s  %9s  %s\n' time from to outcome seconds 'phases (! failed)'
    ((${#rows[@]} > $1)) && rows=("${rows[@]: -$1}")
    ((${#rows[@]} == 0)) || printf '%s\n' "${rows[@]}"
    exit 0
}

why() { # role: the class of why its unit does not run, in words, and the unit's last lines
    [[ " ${ROLES[*]} " == *" $1 "* && -n $1 ]] || { usage; die 2 "why needs a role."; }
    exec 9>&-
    look "$1" || { advise_systemd; die 3 "systemctl --${C[scope]} does not answer: $SUB"; }
    if [[ $ACTIVE =~ $MOVING ]]; then echo "none ${C[$1.unit]} runs"; exit 0; fi
    if [[ $ACTIVE != failed ]]; then echo "none ${C[$1.unit]} was stopped in order"; exit 0; fi
    classified "$1" "ended" 2>/dev/null
    printf '%s %s\n' "$CAUSE" "$TELLING"
    printf '%s\n' "$TAIL" | tr -d '\001-\010\013-\037\177'
    exit 0
}

usage() { sed -n 's/^#   \(model-swap.sh .*\)/\1/p' "${BASH_SOURCE[0]}" >&2; }
main() {
    local words=() conf=${NAVIGATOR_SWAP_CONF:-} dry='' scope='' json='' count=20 named=''
    while (($#)); do
        case $1 in
            --user | --system) scope=${1#--} ;;
            --conf) conf=${2:?--conf needs a file}; shift ;;
            --conf=*) conf=${1#*=} ;;
            --dry-run) dry=1 ;;
            --json) json=1 ;;
            -n) count=${2:-}; shift ;;
            -h | --help) usage; exit 0 ;;
            -*) usage; die 2 "there is no option $1." ;;
            *) words+=("$1") ;;
        esac
        shift
    done
    [[ $count =~ ^[1-9][0-9]{0,4}$ ]] || die 2 "-n needs a number."
    [[ ${words[0]:-} == why ]] && { named=${words[1]:-}; words=("${words[@]:0:1}" "${words[@]:2}"); }
    ((${#words[@]} == 1)) || { usage; exit 2; }
    needs
    read_settings "$conf"
    [[ -n $scope ]] && C[scope]=$scope
    check_settings
    case ${words[0]} in
        status) status "$json" ;;
        log) show_log "$count" ;;
        why) why "$named" ;;
        generator | reviewer) ;;
        *) usage; die 2 "there is no role \"${words[0]}\"." ;;
    esac
    [[ -n $dry ]] && DRY=1 && plan "${words[0]}"
    mkdir -p -- "${C[log]%/*}" 2>/dev/null
    swap_to "${words[0]}"
}
# shellcheck disable=SC2317  # every way through main ends in an exit
{ main "$@"; exit; } # read whole before it runs: the file may be replaced meanwhile
