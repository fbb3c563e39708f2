# bash completion for dlhost: commands and options as `dlhost --help` says them, else files.
_dlhost() {
  local word=${COMP_WORDS[COMP_CWORD]} before='' command='' typed help words=''
  for typed in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $typed != -* && $before != --plugin-dir ]]; then command=$typed; break; fi
    before=$typed
  done
  help=$(dlhost ${command:+"$command"} --help 2>/dev/null)
  if [[ $word == -* ]]; then
    words=$(grep -oE -- '--[a-z][a-z_-]*' <<<"$help" | sort -u)
  elif [[ -z $command && $before != --plugin-dir ]]; then
    words=$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p' <<<"$help")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _dlhost dlhost
