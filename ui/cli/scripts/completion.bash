# Sets cur, prev, words and cword to the words up to the cursor. Unlike COMP_WORDS, words
# end only at white space, not at = and :.
__pigrep_words()
{
    local line=${COMP_LINE:0:COMP_POINT} i word space
    words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        space=${line%%[![:space:]]*}
        line=${line:${#space}}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$line
        if ((cword < 0)) || [[ -n $space ]]; then
            words[++cword]=$word
        else
            words[cword]+=$word
        fi
        line=${line:${#word}}
    done
    cur=${words[cword]} prev=
    ((cword == 0)) || prev=${words[cword-1]}
}

# Sets COMPREPLY to the files, or with -d the directories, that cur begins.
__pigrep_files()
{
    local kind=-f name
    [[ ${1-} != -d ]] || kind=-d
    [[ $(type -t compopt) != builtin ]] || compopt -o filenames
    while IFS='' read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen "$kind" -- "$cur")
}
