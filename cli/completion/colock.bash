# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
# Completes the words of colock in bash.

_colock() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='run elect acquire release info ls watch unlock doctor bench'
    local server='--url --connect-timeout --tls-ca --tls-cert --tls-key --tls-name --tls-insecure'
    server+=' --durability --replicas --help'
    local command='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ -z $command && " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
            command=${COMP_WORDS[i]}
        elif [[ ($command == run || $command == elect) && ${COMP_WORDS[i]} == -- ]]; then
            # What comes now is another command's.
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset $((i + 1))
            else
                mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
            fi
            return
        fi
    done
    case $before in
    --kind) mapfile -t COMPREPLY < <(compgen -W 'lock fair read write spin fenced' -- "$word") ;;
    --durability)
        mapfile -t COMPREPLY < <(compgen -W 'none replica majority all disk' -- "$word")
        ;;
    --failovers) mapfile -t COMPREPLY < <(compgen -W 'paused any' -- "$word") ;;
    --on-lost) mapfile -t COMPREPLY < <(compgen -W 'term kill ignore' -- "$word") ;;
    --tls-ca | --tls-cert | --tls-key | --xfile | --claim-file) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --wait | --lease | --at-least | --grace | --connect-timeout)
        mapfile -t COMPREPLY < <(compgen -W '500ms 2s 10s 1m' -- "$word")
        ;;
    --url | --tls-name | --say | --conflict-exit-code | --web | --replicas) ;;
    --web-address) mapfile -t COMPREPLY < <(compgen -W '127.0.0.1 ::1 0.0.0.0' -- "$word") ;;
    *)
        local words=
        case $command in
        '') words="$commands --help --version" ;;
        run)
            words="$server --wait --lease --at-least --kind --conflict-exit-code --on-lost --grace"
            words+=' --quiet --verbose --'
            ;;
        elect) words="$server --lease --say --on-lost --grace --quiet --verbose --" ;;
        acquire) words="$server --lease --wait --kind --claim-file" ;;
        release) words="$server --claim-file" ;;
        info | ls) words="$server --json" ;;
        doctor) words="$server --json --deadlocks --failovers --lease" ;;
        watch) words="$server --json --web --web-address" ;;
        unlock) words="$server --yes" ;;
        bench)
            words="$server --json --seconds --warmup --workers --locks --processes --hungry --poller"
            words+=' --hold-us --start-at --xfile --variant --key --links --lease --poll-cap'
            words+=' --max-tenure --no-fencing --metrics'
            if [[ $word != -* ]]; then words='W1 W2 W3 W4 W5 W6 W7 W8 W9 W10 W11 W12 W1d keys'; fi
            ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
        ;;
    esac
}

complete -F _colock colock
