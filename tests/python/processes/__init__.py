"""Options, processes, threads, forks, and a program's end."""
