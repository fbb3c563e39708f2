# bash completion for dlhost: words from `dlhost complete`, else files.
_dlhost() {
  local word=${COMP_WORDS[COMP_CWORD]}
  mapfile -t COMPREPLY < <(dlhost complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # The suites of `conform` and the programs of `bench` list their options in their --help.
  if [[ ${#COMPREPLY[@]} -eq 0 && $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(dlhost "${COMP_WORDS[@]:1:COMP_CWORD-1}" --help 2>/dev/null |
      grep -oE -- '--[a-z][a-z_-]*' | sort -u)" -- "$word")
  fi
  # compopt fails where bash calls this outside of a completion, as the test does.
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null || true
}
complete -o default -F _dlhost dlhost
