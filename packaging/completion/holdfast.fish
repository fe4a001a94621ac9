# SPDX-License-Identifier: Apache-2.0
# Completion for fish: commands, their options with what they do, and values
# where there are few, where they are files, or names of profiles.  It runs
# nothing but builtins of the shell.
#
# What is written in capitals between two "@" is put in by make.py, from the
# tables of the commands.

# The names of profiles, of the user and of the machine, and the schemes.  Only
# the names are read: a URL may have a password.
function __holdfast_urls
    set -l config $HOME/.config
    if set -q XDG_CONFIG_HOME; and test -n "$XDG_CONFIG_HOME"
        set config $XDG_CONFIG_HOME
    end
    set -l word (commandline -ct | string replace -r '^(--url=|-c)' '')
    if string match -q 'file:*' -- $word
        __fish_complete_directories (string replace 'file:' '' -- $word) |
            string replace -r '^' 'file:'
        return
    end
    printf '%s\n' @SCHEMES@
    for file in $config/holdfast/profiles '@SYSCONFDIR@/holdfast/profiles'
        if test -f $file -a -r $file
            while read -l name rest
                if test -n "$rest"; and not string match -q '#*' -- $name
                    printf '@%s\tprofile\n' $name
                end
            end <$file
        end
    end
end

# Prints what stands before the cursor: the command ("", "run", "zk", "zk get"),
# how many operands it has, and, if it runs another command and the line has
# come to that, the position of its first word, else 0.
function __holdfast_parse
    set -l words (commandline -opc)
    set -l command
    set -l at 2
    if contains -- "$words[2]" @NAMES@
        set command $words[2]
        set at 3
        if test $command = zk; and contains -- "$words[3]" @ZK_NAMES@
            set command "zk $words[3]"
            set at 4
        end
    end
    set -l valued
    switch "$command"
@VALUED@
    end
    set -l operands 0
    set -l dashes 0
    set -l skip no
    set -l start 0
    for word in $words[$at..]
        set at (math $at + 1)
        if test $skip = yes
            set skip no
        else if test "$word" = --
            if test $operands -gt 0; and contains -- "$command" @RUNNING@
                set start $at
                break
            end
            set dashes 1
        else if test $dashes = 0; and string match -q -- '-*' $word
            if contains -- $word $valued
                set skip yes
            end
        else
            set operands (math $operands + 1)
        end
    end
    printf '%s\n' "$command" $operands $start
end

# Is the cursor among the words of the command $argv?
function __holdfast_is
    set -l parsed (__holdfast_parse)
    test "$parsed[1]" = "$argv" -a "$parsed[3]" = 0
end

function __holdfast_operands
    set -l parsed (__holdfast_parse)
    printf '%s\n' $parsed[2]
end

# The completion of the command that is run.
function __holdfast_is_command
    set -l parsed (__holdfast_parse)
    test "$parsed[3]" != 0
end

function __holdfast_complete_command
    set -l parsed (__holdfast_parse)
    set -l words (commandline -opc) (commandline -ct)
    complete -C (string join ' ' -- (string escape -- $words[$parsed[3]..-2]) $words[-1])
end

complete -c holdfast -f
complete -c holdfast -n __holdfast_is_command -xa '(__holdfast_complete_command)'
complete -c holdfast -n __holdfast_is -s h -l help -d 'print a summary'
complete -c holdfast -n __holdfast_is -l version -d 'print the version'
complete -c holdfast -n __holdfast_is -a zk -d '@ZK_ABOUT@'
complete -c holdfast -n '__holdfast_is zk' -s h -l help -d 'print a summary'
@COMMANDS@
@ZK_COMMANDS@
@OPTIONS@
