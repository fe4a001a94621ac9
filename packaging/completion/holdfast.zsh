#compdef holdfast
# SPDX-License-Identifier: Apache-2.0
# Completion for zsh: commands, their options with what they do, and values
# where there are few, where they are files, or names of profiles.  It runs
# nothing but builtins of the shell.
#
# What is written in capitals between two "@" is put in by make.py, from the
# tables of the commands.

# The names of profiles, of the user and of the machine.  Only the names are
# read: a URL may have a password.
_holdfast_profiles() {
    local file name rest
    local -a names

    for file in "${XDG_CONFIG_HOME:-$HOME/.config}/holdfast/profiles" \
        '@SYSCONFDIR@/holdfast/profiles'; do
        if [[ -f $file && -r $file ]]; then
            while read -r name rest || [[ -n $name ]]; do
                if [[ -n $rest && $name != '#'* ]]; then
                    names+=("@$name")
                fi
            done <$file
        fi
    done
    compadd -- $names
}

# The value of --url.
_holdfast_url() {
    if compset -P file:; then
        _files -/
    elif [[ $PREFIX == @* ]]; then
        _holdfast_profiles
    else
        compadd -S '' -- @SCHEMES@ @
    fi
}

_holdfast_commands=(
@COMMANDS@
    'zk:@ZK_ABOUT@'
)

_holdfast_zk_commands=(
@ZK_COMMANDS@
)

# Set ${specs} to what the command $1 takes, and ${runs} if it runs another.
_holdfast_specs() {
    case $1 in
@CASES@
    esac
}

# Set REPLY to the position of the "--" between the names of locks and COMMAND, if
# it stands before the cursor, else to 0.  An option that takes a value is one of
# the array $valued.
_holdfast_find_command() {
    local i skip=no
    integer names=0 dashes=0

    REPLY=0
    for ((i = 2; i < CURRENT; i++)); do
        if [[ $skip == yes ]]; then
            skip=no
        elif [[ $words[i] == -- ]]; then
            if ((names > 0)); then
                REPLY=$i
                return
            fi
            ((++dashes))
        elif [[ $words[i] == -* ]] && ((dashes == 0)); then
            if ((${valued[(Ie)$words[i]]})); then
                skip=yes
            fi
        else
            ((++names))
        fi
    done
}

_holdfast() {
    local REPLY runs='' command=''
    local -a specs valued

    if ((CURRENT == 2)); then
        _arguments '(- *)'{-h,--help}'[print a summary]' \
            '(- *)--version[print the version]' \
            '1:command:{_describe command _holdfast_commands}'
        return
    fi
    shift words
    ((CURRENT--))
    command=$words[1]
    if [[ $command == zk ]]; then
        if ((CURRENT == 2)); then
            if [[ $PREFIX == -* ]]; then
                compadd -- --help
            else
                _describe command _holdfast_zk_commands
            fi
            return
        fi
        shift words
        ((CURRENT--))
        command="zk $words[1]"
    fi
    _holdfast_specs $command
    if [[ -n $runs ]]; then
        valued=(${${(M)specs:#*[+=]\[*}#*\)})
        valued=(${valued%%[+=]\[*})
        _holdfast_find_command
        if ((REPLY > 0)); then
            words=("${(@)words[REPLY + 1,-1]}")
            ((CURRENT -= REPLY))
            _normal
            return
        fi
    fi
    _arguments -s -S $specs
}

_holdfast "$@"
