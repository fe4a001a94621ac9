# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion for bash: commands, their options, and values where there are few,
# where they are files, or names of profiles.  It runs nothing, so that it is
# quick and works on any machine.
#
# What is written in capitals between two "@" is put in by make.py, from the
# tables of the commands.

# A line for each option: the command, the two forms, what the value is called,
# and what it can be.  "zk/get" is "holdfast zk get".
_holdfast_options='
@OPTIONS@
'

# The same for operands; the number is the position.
_holdfast_operands='
@OPERANDS@
'

_holdfast_commands='@COMMANDS@'
_holdfast_zk_commands='@ZK_COMMANDS@'
_holdfast_schemes='@SCHEMES@'
_holdfast_running=' @RUNNING@ ' # those that run a command

# Offer those of the words $1 that begin with $2.
_holdfast_offer()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# Offer files, or with -d directories, as $1 says, that begin with $2.
_holdfast_offer_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

# Offer the names of profiles, of the user and of the machine, that begin with
# $1.  Only the names are read: a URL may have a password.
_holdfast_offer_profiles()
{
    local file name names='' rest

    for file in "${XDG_CONFIG_HOME:-${HOME-}/.config}/holdfast/profiles" \
        '@SYSCONFDIR@/holdfast/profiles'; do
        if [[ -f $file && -r $file ]]; then
            while read -r name rest || [[ -n $name ]]; do
                if [[ -n $rest && $name != '#'* ]]; then
                    names+="@$name"$'\n'
                fi
            done <"$file"
        fi
    done
    # compgen expands its words: so $names, and not what is in it.
    # shellcheck disable=SC2016
    mapfile -t COMPREPLY < <(compgen -W '$names' -- "$1")
}

# Offer values that are called $1 and begin with $2.  The others are what they
# can be.
_holdfast_offer_values()
{
    case $1 in
    URL)
        if [[ $2 == @* ]]; then
            _holdfast_offer_profiles "$2"
        else
            compopt -o nospace 2>/dev/null
            _holdfast_offer "@ $_holdfast_schemes" "$2"
        fi
        ;;
    FILE) _holdfast_offer_files -f "$2" ;;
    DIR) _holdfast_offer_files -d "$2" ;;
    *)
        if (($# > 2)); then
            _holdfast_offer "${*:3}" "$2"
        fi
        ;;
    esac
}

# Complete COMMAND and its arguments, of which $2 is the first and $3 the last.
# $1 words "--" stand before the one in front of COMMAND.
_holdfast_complete_command()
{
    local before=$1 i

    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]] && ((before-- == 0)); then
            break
        fi
    done
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset $((i + 1)) # of bash-completion 2.12
    elif declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1)) # of earlier ones
    elif (($# == 2)) && [[ $2 != */* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$2")
    else
        _holdfast_offer_files -f "${!#}"
    fi
}

_holdfast()
{
    # Not COMP_WORDS, which has "--url=file:" as four words.
    local line=${COMP_LINE:0:COMP_POINT} words
    read -ra words <<<"$line"
    if [[ $line == *[[:blank:]] ]]; then
        words+=('')
    fi

    local last=$((${#words[@]} - 1)) command=${words[1]-}
    local current=${words[last]} start='' value='' names=0 dashes=0
    local of letter name called long='' first=2 i
    local -A value_of # what an option's value is called, and what it can be

    COMPREPLY=()
    if ((last == 1)); then
        if [[ $current == -* ]]; then
            _holdfast_offer '--help --version' "$current"
        else
            _holdfast_offer "$_holdfast_commands" "$current"
        fi
        return
    fi

    if [[ $command == zk ]]; then
        if ((last == 2)); then
            _holdfast_offer "$([[ $current == -* ]] && echo --help ||
                echo "$_holdfast_zk_commands")" "$current"
            return
        fi
        command=zk/${words[2]}
        first=3
    fi

    while read -r of letter name called; do
        if [[ $of == "$command" ]]; then
            long+=" $name"
            value_of[$letter]=$called
            value_of[$name]=$called
        fi
    done <<<"$_holdfast_options"
    if [[ $command == --version ]]; then
        long=--verbose
    fi

    # What stands before the current word: the option whose value it is, names.
    for ((i = first; i < last; i++)); do
        if [[ -n $value ]]; then
            value=''
        elif [[ ${words[i]} == -- ]]; then
            if [[ $_holdfast_running == *" $command "* ]] && ((names > 0)); then
                _holdfast_complete_command "$dashes" "${words[@]:i+1}"
                return
            fi
            ((++dashes))
        elif [[ ${words[i]} == -* ]] && ((dashes == 0)); then
            value=${value_of[${words[i]}]-}
        else
            ((++names))
        fi
    done

    if [[ -z $value && $current == --*=* ]]; then
        start=${current%%=*}=
        value=${value_of[${current%%=*}]-}
        current=${current#*=}
    elif [[ -z $value && $current != -* ]]; then
        while read -r of i called; do
            if [[ $of == "$command" && $i == "$names" ]]; then
                value=$called
            fi
        done <<<"$_holdfast_operands"
    fi
    if [[ $value == URL && $current == file:* ]]; then
        start+=file:
        value=DIR
        current=${current#file:}
    fi
    if [[ -n $value ]]; then
        # shellcheck disable=SC2086 # its words
        set -- $value
        _holdfast_offer_values "$1" "$current" "${@:2}"
    elif [[ $current == -* ]] && ((dashes == 0)); then
        _holdfast_offer "$long" "$current"
    fi

    # bash replaces only what follows the last of COMP_WORDBREAKS in the word.
    local word=${words[last]}
    local kept=${word%"${word##*["$COMP_WORDBREAKS"]}"}
    COMPREPLY=("${COMPREPLY[@]/#/"$start"}")
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

complete -F _holdfast holdfast
