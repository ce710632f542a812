# Ends what a Weir process has left behind, once that process is gone. $1 is its mark, $2 the leading digits of
# its marks as resource limits. Standard input is a pipe whose other end only that process has, so it closes
# when the process ends, for whatever reason.
trap "" HUP INT QUIT TERM
while read -r _; do :; done
round=0
empty=0
while [ "$round" -lt 200 ] && [ "$empty" -lt 2 ]; do
    found=
    limited="^Max realtime timeout  *$2[0-9]\{9\} "
    for file in $(grep -slF -- "$1" /proc/[0-9]*/environ; grep -sl -- "$limited" /proc/[0-9]*/limits); do
        pid=${file#/proc/}
        pid=${pid%/*}
        found=yes
        if [ "$round" -eq 0 ]; then
            kill -TERM "$pid" 2>/dev/null
        elif [ "$round" -ge 20 ]; then
            kill -KILL "$pid" 2>/dev/null
        fi
    done
    if [ -n "$found" ]; then empty=0; else empty=$((empty + 1)); fi
    round=$((round + 1))
    sleep 0.1
done
