# fish completion for blica, which knows its own commands, options and words.
function __blica_candidates
    set -l words (commandline -opc)
    $words[1] --complete $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c blica -a '(__blica_candidates)'
