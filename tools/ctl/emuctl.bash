# SPDX-License-Identifier: BSD-2-Clause
# emuctl.bash - completion of emuctl for bash.
_emuctl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= at

	COMPREPLY=()
	case $before in
	--level)
		mapfile -t COMPREPLY < <(compgen -W 'warn info debug' -- "$word")
		return
		;;
	--dir)
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	load)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	-i | -n | --timeout)
		return
		;;
	esac
	for ((at = 1; at < COMP_CWORD; at++)); do
		case ${COMP_WORDS[at]} in
		-i | -n | --level | --dir | --timeout) at=$((at + 1)) ;;
		-*) ;;
		*)
			command=${COMP_WORDS[at]}
			break
			;;
		esac
	done
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--json --keys -i -n --level --dir --timeout --help' -- "$word")
	elif [[ -z $command ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'ps info ep conn mr cq stat log watch trace fault event metrics' -- "$word")
	elif [[ $before == fault ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'load clear' -- "$word")
	elif [[ $before == event ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'PORT_ERR PORT_ACTIVE GID_CHANGE DEVICE_FATAL CQ_ERR QP_FATAL' -- "$word")
	elif [[ $before == trace ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'on off' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -W "$(emuctl ps 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$word")
	fi
}
complete -F _emuctl emuctl
