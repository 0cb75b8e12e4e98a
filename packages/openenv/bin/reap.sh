# The first process of a container: runs a command, forwards signals to it, exits with its exit code, and reaps orphaned
# processes, which Node.js as the first process does not do. If another process is the first, as with docker run --init,
# it only runs the command.
[ $$ = 1 ] || exec "$@"
for signal in HUP INT QUIT TERM USR1 USR2; do trap "kill -$signal \$!" $signal; done
# A terminal sends these to the command too: a second SIGINT would end it immediately.
[ ! -t 0 ] || trap : INT QUIT
"$@" &
# A signal ends the wait, not the command.
until wait $!; code=$?; [ $code -le 128 ] || ! kill -0 $! 2>/dev/null; do :; done
exit $code
