# fish completion for dlhost: words from `dlhost complete`, else files.
complete -c dlhost -a '(dlhost complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
