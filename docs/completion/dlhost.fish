# fish completion for dlhost: what `dlhost complete` says may stand there, else files.
complete -c dlhost -a '(dlhost complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
