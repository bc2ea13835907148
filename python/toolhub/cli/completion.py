"""`toolhub completion`: the completion script for a shell. The scripts ask `toolhub __complete`, which reads the store."""

import argparse

from ._output import answer, put

_SCRIPTS = {
    "bash": """\
# toolhub completion for bash: eval "$(toolhub completion bash)"
_toolhub() {
    local words last typed answer
    read -r -a words <<< "${COMP_LINE:0:COMP_POINT}"
    [[ "${COMP_LINE:0:COMP_POINT}" == *" " ]] && words+=("")
    last="${words[-1]}"
    # Bash ends words at = and : too, and replaces only what comes after them.
    typed="${last%"${last##*[:=]}"}"
    COMPREPLY=()
    while IFS= read -r answer; do
        if [[ "$answer" == ":files" ]]; then
            compopt -o default 2>/dev/null
        else
            COMPREPLY+=("$(printf %q "${answer#"$typed"}")")
        fi
    done < <(toolhub __complete "${words[@]:1}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *[=/] ]] && compopt -o nospace
    return 0
}
complete -F _toolhub toolhub
""",
    "zsh": """\
#compdef toolhub
# toolhub completion for zsh: eval "$(toolhub completion zsh)", after compinit
_toolhub() {
    local -a answers
    answers=("${(@f)$(toolhub __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    answers=("${(@)answers:#}")
    (( ${answers[(Ie):files]} )) && _files
    answers=("${(@)answers:#:files}")
    # Without -Q, zsh quotes what it puts on the line: names and values come from servers.
    compadd -S '' -- "${(@M)answers:#*[=/]}"
    compadd -- "${(@)answers:#*[=/]}"
}
compdef _toolhub toolhub
""",
    "fish": """\
# toolhub completion for fish: toolhub completion fish | source
function __toolhub_complete
    set -l words (commandline -opc) (commandline -ct)
    for answer in (toolhub __complete $words[2..-1] 2>/dev/null)
        if test "$answer" = ":files"
            __fish_complete_path (commandline -ct)
        else
            printf '%s\\n' $answer
        end
    end
end
complete -c toolhub -f -a '(__toolhub_complete)'
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS), metavar="SHELL", help="bash, zsh or fish")


def run(given: argparse.Namespace) -> int:
    """Print the script."""
    script = _SCRIPTS[given.shell]
    answer(given, {"shell": given.shell, "script": script}, script.rstrip("\n"), put)
    return 0
